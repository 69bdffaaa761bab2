/* Ferry: heterogeneous transfer learning. This header includes the whole public API. */
#ifndef FERRY_H
#define FERRY_H

#include "ferry/evaluate.h"
#include "ferry/fetch.h"
#include "ferry/generate.h"
#include "ferry/ranks.h"
#include "ferry/select.h"
#include "ferry/serve.h"
#include "ferry/stream.h"

#endif
