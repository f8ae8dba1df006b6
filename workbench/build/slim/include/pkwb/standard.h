// Stands for the parts of the standard library that torch's headers bring along and sources lean on.
#pragma once

#include <algorithm>
#include <array>
#include <climits>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <initializer_list>
#include <iterator>
#include <limits>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>
// CUDA's own libraries bring it where they are there.
#ifdef __CUDACC__
#include <cfloat>
#endif
// They take a third of the time of a small kernel: only for sources that name more than the above has.
#ifdef PKWB_WHOLE_STANDARD
#include <atomic>
#include <cassert>
#include <chrono>
#include <deque>
#include <functional>
#include <iomanip>
#include <iostream>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <set>
#include <unordered_map>
#include <unordered_set>
#include <variant>
#endif
