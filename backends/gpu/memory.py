class GpuMemory: pass
