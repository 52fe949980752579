"""Whether an error means that memory ran out. No runtime has one class for it, so texts decide."""

import re

TEXTS = re.compile(
    "|".join(
        (
            # ONNX Runtime's arena: at its cap, and when the device or the system gives no more
            r"smaller than requested bytes of",
            r"failed to allocate memory for requested buffer",
            r"failed to find a free memory block",
            r"bfc ?arena ran out of memory",
            # CUDA, HIP, Metal, torch, TensorRT: words and names of codes
            r"\bout[ _]of[ _](gpu |device |host |video )?memory\b",
            r"OutOfMemory",
            r"(cuda|hip) failure 2\b",
            r"cudaErrorMemoryAllocation|CUDA_ERROR_OUT_OF_MEMORY|hipErrorOutOfMemory",
            r"CU(BLAS|DNN)_STATUS_ALLOC_FAILED|CUFFT_ALLOC_FAILED",
            r"CURAND_STATUS_ALLOCATION_FAILED|(HOST|DEVICE)_ALLOCATION_FAILED",
            r"cudaMallocFromPoolAsync failed",
            r"gpu memory \(\d+ bytes\) could not be allocated",
            r"error allocating \d+-byte buffer",
            # DirectML, OpenCL, Level Zero
            r"800 ?7000E|not enough memory",
            r"CL_(OUT_OF_RESOURCES|OUT_OF_HOST_MEMORY|MEM_OBJECT_ALLOCATION_FAILURE)",
            r"ERROR_OUT_OF_(DEVICE|HOST)_MEMORY",
            # the system: C++, numpy, OpenCV
            r"\bbad[ _]alloc(ation)?\b",
            r"unable to allocate .* for an array",
            r"insufficient memory",
            r"can('t|not) allocate memory",
        )
    ),
    re.IGNORECASE,
)
MASKED = re.compile(
    r"CUDNN_STATUS_INTERNAL_ERROR\b|CUBLAS_STATUS_NOT_INITIALIZED|CUDNN_BACKEND_API_FAILED"
)
LOW_BYTES = 300_000_000  # free: below it a masked code means that memory ran out


def is_oom(error: BaseException, *, free_bytes: int | None = None) -> bool:
    """Tell whether `error`, or one that caused it, says that memory ran out.

    Args:
        free_bytes: of the device at that moment, if it can be read. Some codes of cuDNN and cuBLAS
            hide what happened; they count only when little is free.

    >>> is_oom(RuntimeError("CUDA failure 2: out of memory"))
    True
    >>> is_oom(RuntimeError("CUDA failure 700: an illegal memory access was encountered"))
    False
    """
    low = free_bytes is not None and free_bytes < LOW_BYTES
    seen: set[int] = set()
    link: BaseException | None = error
    while link is not None and id(link) not in seen:
        seen.add(id(link))
        text = str(link)
        if isinstance(link, MemoryError) or "OutOfMemory" in type(link).__name__:
            return True
        if TEXTS.search(text) or (low and MASKED.search(text)):
            return True
        link = link.__cause__ or link.__context__
    return False


def reason(error: BaseException) -> str:
    """Return what `error` says in one short line, for events and the report."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return re.sub(r"^.*(?=Available memory of|Failed to allocate)", "", lines[-1])[-160:]
