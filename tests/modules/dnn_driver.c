/* What cuDNN looks for in libcuda.so.1 before it compiles a kernel, for a machine without a driver: code can be loaded,
 * and nothing runs. */
typedef struct CUmod_st *code;

enum { SUCCESS = 0, STUB_LIBRARY = 34 };

/* Any arguments. */
#define MISSING(name)                                                                                                  \
    int name(void);                                                                                                    \
    int name(void) { return STUB_LIBRARY; }

MISSING(cuCtxGetCurrent)
MISSING(cuCtxGetDevice)
MISSING(cuCtxGetLimit)
MISSING(cuCtxPopCurrent)
MISSING(cuCtxPushCurrent)
MISSING(cuDeviceGet)
MISSING(cuDeviceGetAttribute)
MISSING(cuDeviceGetCount)
MISSING(cuDevicePrimaryCtxRelease)
MISSING(cuDevicePrimaryCtxReset)
MISSING(cuDevicePrimaryCtxRetain)
MISSING(cuFuncGetAttribute)
MISSING(cuFuncSetAttribute)
MISSING(cuGetErrorName)
MISSING(cuGetErrorString)
MISSING(cuInit)
MISSING(cuLaunchCooperativeKernel)
MISSING(cuLaunchKernel)
MISSING(cuLaunchKernelEx)
MISSING(cuLibraryLoadFromFile)
MISSING(cuLinkAddData)
MISSING(cuLinkAddData_v2)
MISSING(cuLinkAddFile_v2)
MISSING(cuLinkComplete)
MISSING(cuLinkCreate)
MISSING(cuLinkCreate_v2)
MISSING(cuLinkDestroy)
MISSING(cuMemcpyDtoH_v2)
MISSING(cuModuleGetFunction)
MISSING(cuModuleGetGlobal_v2)
MISSING(cuModuleLoadData)
MISSING(cuModuleLoadDataEx)
MISSING(cuModuleLoadFatBinary)
MISSING(cuModuleUnload)
MISSING(cuOccupancyMaxActiveBlocksPerMultiprocessor)
MISSING(cuOccupancyMaxPotentialClusterSize)
MISSING(cuStreamGetCtx)
MISSING(cuStreamSynchronize)
MISSING(cuTensorMapEncodeTiled)

int cuDriverGetVersion(int *version);
int cuDriverGetVersion(int *version) {
    *version = 13000;
    return SUCCESS;
}

static int here; /* what handles point to */

int cuLibraryLoadData(code *out);
int cuLibraryLoadData(code *out) {
    *out = (code)(void *)&here;
    return SUCCESS;
}

int cuLibraryGetKernel(code *out);
int cuLibraryGetKernel(code *out) {
    *out = (code)(void *)&here;
    return SUCCESS;
}

int cuLibraryUnload(void);
int cuLibraryUnload(void) { return SUCCESS; }

int cuKernelSetAttribute(void);
int cuKernelSetAttribute(void) { return SUCCESS; }

int cuKernelGetAttribute(int *value);
int cuKernelGetAttribute(int *value) {
    *value = 0;
    return SUCCESS;
}
