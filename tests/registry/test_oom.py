"""Guards the one question all of memory handling hangs on: is this error "out of memory"?"""

import pytest

from facefusion_ui.registry.oom import is_oom, reason


class BackendError(Exception):
    """Runtimes raise classes of their own."""


OUT_OF_MEMORY = [
    "Available memory of 32890880 is smaller than requested bytes of 67108864",
    "Failed to allocate memory for requested buffer of size 4585490",
    "Failed to find a free memory block despite calling Extend. rounded_bytes=1",
    "BFC Arena ran out of memory trying to allocate 12",
    "[ONNXRuntimeError] : 6 : RUNTIME_EXCEPTION : Exception during initialization: std::bad_alloc",
    "Status Message: bad allocation",
    "CUDA failure 2: out of memory ; GPU=0 ; hostname=D ; file=cuda_allocator.cc ; line=47",
    "CUBLAS failure 3: CUBLAS_STATUS_ALLOC_FAILED ; GPU=0",
    "CUDNN_STATUS_ALLOC_FAILED",
    "CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED",
    "CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED",
    "CUFFT_ALLOC_FAILED",
    "CURAND_STATUS_ALLOCATION_FAILED",
    "Error Code 1: Cuda Runtime (out of memory)",
    "Error Code 2: OutOfMemory (Requested size was 16581132288 bytes.)",
    "Requested amount of GPU memory (15485030400 bytes) could not be allocated.",
    "Cuda Error in allocate: 2 (out of memory)",
    "User allocator error allocating 86114304000-byte buffer",
    "Exception(3) tid(4304) 8007000E Not enough memory resources are available",
    "Exception(1) 800 7000E to enough memory resources",
    "HIP failure 2: out of memory",
    "hipErrorOutOfMemory",
    "HIP out of memory. Tried to allocate 2.25 GiB",
    "MPS backend out of memory",
    "kIOGPUCommandBufferCallbackErrorOutOfMemory",
    "CL_OUT_OF_RESOURCES",
    "UR_RESULT_ERROR_OUT_OF_DEVICE_MEMORY",
    "CUDA out of memory. Tried to allocate 512 MiB",
    "CUDA error: out of memory",
    "CUDA_ERROR_OUT_OF_MEMORY",
    "cudaErrorMemoryAllocation",
    "CudaMempoolArena::Alloc: cudaMallocFromPoolAsync failed: 2",
    "OpenCV(5.0.0) alloc.cpp:73: error: (-4:Insufficient memory) Failed to allocate 432000000",
    "Unable to allocate 1.49 GiB for an array with shape (20000, 20000) and data type float32",
    "DefaultCPUAllocator: not enough memory: you tried to allocate 1 bytes",
    "DefaultCPUAllocator: can't allocate memory: you tried to allocate 1 bytes. Error code 12",
]
SOMETHING_ELSE = [
    "CUDA failure 700: an illegal memory access was encountered",
    "no kernel image is available for execution on the device",
    "CUDNN failure 4: CUDNN_STATUS_INTERNAL_ERROR ; expr=cudnnCreate(&cudnn_handle_)",
    "CUBLAS_STATUS_NOT_INITIALIZED",
    "Got invalid dimensions for input: x",
    "Did not find an arena based allocator registered for device-id combination in the memory "
    "arena shrink list: gpu:0",
    "Protobuf parsing failed.",
    "memory pattern is disabled",
    "887A0006 The GPU will not respond to more commands",
    "",
]


@pytest.mark.parametrize("text", OUT_OF_MEMORY)
def test_every_backends_words_for_it_are_known(text) -> None:
    assert is_oom(BackendError(text))


@pytest.mark.parametrize("text", SOMETHING_ELSE)
def test_other_troubles_are_not_taken_for_it(text) -> None:
    assert not is_oom(BackendError(text))


@pytest.mark.parametrize(
    "text", ["CUDNN_STATUS_INTERNAL_ERROR ; expr=cudnnCreate", "CUBLAS_STATUS_NOT_INITIALIZED"]
)
def test_masked_codes_count_only_when_little_is_free(text) -> None:
    assert is_oom(BackendError(text), free_bytes=100_000_000)
    assert not is_oom(BackendError(text), free_bytes=2_000_000_000)
    assert not is_oom(BackendError(text))


def test_memory_errors_count_without_words() -> None:
    assert is_oom(MemoryError())


def test_the_cause_of_an_error_is_looked_at() -> None:
    outer = ValueError("the model cannot be opened")
    outer.__cause__ = BackendError(OUT_OF_MEMORY[0])
    assert is_oom(outer)


def test_a_ring_of_causes_ends() -> None:
    first, second = ValueError("a"), ValueError("b")
    first.__cause__, second.__cause__ = second, first
    assert not is_oom(first)


def test_the_reason_is_one_short_line() -> None:
    error = BackendError(
        "Non-zero status code\nvoid* onnxruntime::BFCArena::AllocateRawInternal(size_t) "
        "Available memory of 32890880 is smaller than requested bytes of 67108864\n"
    )
    assert reason(error) == (
        "Available memory of 32890880 is smaller than requested bytes of 67108864"
    )
    assert reason(MemoryError()) == "MemoryError"
