// A file that a CUDA build of torch generates, and that a CPU build comes without.
#pragma once
#define C10_CUDA_BUILD_SHARED_LIBS
