"""A CUDA device that takes all code and runs none: what the host does can be tried from end to end, results mean nothing."""

from host_as_device import CUDA_EXTRA, HostAsDevice
from phlox.backends.gpu.backend import TARGET_OF, GpuBackend
from phlox.backends.gpu.drivers.cuda import CUDA, CudaDriver
from phlox.backends.registry import register_backend


class _KernelsUnrun(HostAsDevice):
    def _ModuleGetFunction(self, function, module, name):
        function[0] = 0x7000

    def _LaunchKernel(self, *arguments):
        return 0


def register_cuda() -> GpuBackend:
    """Make it the backend "cuda", an H100 by its architecture. Memory that kernels have not written is zero."""
    device = CudaDriver(_KernelsUnrun(CUDA, CUDA_EXTRA)).open(0)
    backend = GpuBackend("cuda", device, TARGET_OF["cuda"](device.properties))
    register_backend("cuda", lambda: backend)
    return backend
