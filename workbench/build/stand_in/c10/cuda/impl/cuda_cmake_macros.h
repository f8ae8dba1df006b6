#pragma once
// What torch's own build generates here; a CPU build leaves it out.
#define C10_CUDA_BUILD_SHARED_LIBS
