"""From a candidate's CUDA and C++ text to libraries that ranks load; never imports torch, never touches a device."""
