"""The grammar of SPIR-V: instructions, their operands, and the names of numbers, as far as kernels of OpenCL may have them.

A line of the tables has operands, and what takes them with its number. ``?`` is at most once, ``*`` is any number of times,
``+`` joins what repeats together. Operands are ids and literals, or the name of a table of ``_ENUMERANTS``, where those of a
mask may be joined; what an enumerant is followed by stands behind it.

Source: "SPIR-V Specification" 1.6, revision 4, and "SPIR-V Extended Instruction Set: OpenCL", in Khronos' machine-readable form
(``spirv.core.grammar.json``, ``extinst.opencl.std.100.grammar.json``).
"""

from __future__ import annotations

import functools
import re
from typing import NamedTuple

_INSTRUCTIONS = """
: OpNop=0 OpFunctionEnd=56 OpReturn=253 OpUnreachable=255 OpNoLine=317
type result: OpUndef=1 OpConstantTrue=41 OpConstantFalse=42 OpConstantNull=46 OpSpecConstantTrue=48 OpSpecConstantFalse=49
  OpFunctionParameter=55 OpCreateUserEvent=299 OpGetDefaultQueue=303 OpSaveMemoryINTEL=5819
string: OpSourceContinued=2 OpSourceExtension=4 OpExtension=10 OpModuleProcessed=330
SourceLanguage integer id? string?: OpSource=3
id string: OpName=5
id integer string: OpMemberName=6
result string: OpString=7 OpExtInstImport=11 OpTypeOpaque=31
id integer integer: OpLine=8
type result id extended id*: OpExtInst=12 OpExtInstWithForwardRefsKHR=4433
AddressingModel MemoryModel: OpMemoryModel=14
ExecutionModel id string id*: OpEntryPoint=15
id ExecutionMode: OpExecutionMode=16 OpExecutionModeId=331
Capability: OpCapability=17
result: OpTypeVoid=19 OpTypeBool=20 OpTypeSampler=26 OpTypeEvent=34 OpTypeDeviceEvent=35 OpTypeReserveId=36 OpTypeQueue=37
  OpDecorationGroup=73 OpLabel=248 OpTypePipeStorage=322 OpTypeNamedBarrier=327
result integer integer: OpTypeInt=21
result integer FPEncoding?: OpTypeFloat=22
result id integer: OpTypeVector=23
result id Dim integer integer integer integer ImageFormat AccessQualifier?: OpTypeImage=25
result id: OpTypeSampledImage=27
result id id: OpTypeArray=28
result id*: OpTypeStruct=30
result StorageClass id: OpTypePointer=32
result id id*: OpTypeFunction=33
result AccessQualifier: OpTypePipe=38 OpTypeBufferSurfaceINTEL=6086
id StorageClass: OpTypeForwardPointer=39
type result number: OpConstant=43 OpSpecConstant=50
type result id*: OpConstantComposite=44 OpSpecConstantComposite=51 OpCompositeConstruct=80
  OpCompositeConstructContinuedINTEL=6096
type result SamplerAddressingMode integer SamplerFilterMode: OpConstantSampler=45
type result operation: OpSpecConstantOp=52
type result FunctionControl id: OpFunction=54
type result id id*: OpFunctionCall=57 OpAccessChain=65 OpInBoundsAccessChain=66
type result StorageClass id?: OpVariable=59
type result id id id: OpImageTexelPointer=60 OpVectorInsertDynamic=78 OpSelect=169 OpBitFieldSExtract=202
  OpBitFieldUExtract=203 OpAtomicLoad=227 OpAtomicIIncrement=232 OpAtomicIDecrement=233 OpGroupBroadcast=263
  OpGetNumPipePackets=283 OpGetMaxPipePackets=284 OpBuildNDRange=304 OpAtomicFlagTestAndSet=318
  OpGroupNonUniformBroadcast=337 OpGroupNonUniformBallotBitExtract=341 OpGroupNonUniformShuffle=345
  OpGroupNonUniformShuffleXor=346 OpGroupNonUniformShuffleUp=347 OpGroupNonUniformShuffleDown=348 OpFmaKHR=4427
  OpSubgroupShuffleDownINTEL=5572 OpSubgroupShuffleUpINTEL=5573
type result id MemoryAccess?: OpLoad=61
id id MemoryAccess?: OpStore=62 OpSubgroupBlockPrefetchINTEL=6221
id id MemoryAccess? MemoryAccess?: OpCopyMemory=63
id id id MemoryAccess? MemoryAccess?: OpCopyMemorySized=64
type result id id id*: OpPtrAccessChain=67 OpInBoundsPtrAccessChain=70 OpUntypedAccessChainKHR=4419
  OpUntypedInBoundsAccessChainKHR=4420
type result id: OpGenericPtrMemSemantics=69 OpCopyObject=83 OpImage=100 OpImageQueryFormat=101 OpImageQueryOrder=102
  OpImageQuerySize=104 OpImageQueryLevels=106 OpImageQuerySamples=107 OpConvertFToU=109 OpConvertFToS=110 OpConvertSToF=111
  OpConvertUToF=112 OpUConvert=113 OpSConvert=114 OpFConvert=115 OpConvertPtrToU=117 OpSatConvertSToU=118
  OpSatConvertUToS=119 OpConvertUToPtr=120 OpPtrCastToGeneric=121 OpGenericCastToPtr=122 OpBitcast=124 OpSNegate=126
  OpFNegate=127 OpAny=154 OpAll=155 OpIsNan=156 OpIsInf=157 OpIsFinite=158 OpIsNormal=159 OpSignBitSet=160 OpLogicalNot=168
  OpNot=200 OpBitReverse=204 OpBitCount=205 OpIsValidReserveId=282 OpIsValidEvent=300 OpSizeOf=321
  OpCreatePipeFromPipeStorage=324 OpNamedBarrierInitialize=328 OpGroupNonUniformElect=333 OpCopyLogical=400
  OpSubgroupBallotKHR=4421 OpSubgroupFirstInvocationKHR=4422 OpSubgroupAllKHR=4428 OpSubgroupAnyKHR=4429
  OpSubgroupAllEqualKHR=4430 OpCooperativeMatrixLengthKHR=4460 OpConstantCompositeReplicateEXT=4461
  OpSpecConstantCompositeReplicateEXT=4462 OpCompositeConstructReplicateEXT=4463 OpReadClockKHR=5056
  OpSubgroupBlockReadINTEL=5575 OpUCountLeadingZerosINTEL=5585 OpUCountTrailingZerosINTEL=5586
  OpVariableLengthArrayINTEL=5818 OpConvertFToBF16INTEL=6116 OpConvertBF16ToFINTEL=6117 OpArithmeticFenceEXT=6145
  OpRoundFToTF32INTEL=6426 OpConvertHandleToImageINTEL=6529 OpConvertHandleToSamplerINTEL=6530
  OpConvertHandleToSampledImageINTEL=6531
id Decoration: OpDecorate=71 OpDecorateId=332 OpDecorateString=5632
id integer Decoration: OpMemberDecorate=72 OpMemberDecorateString=5633
id id*: OpGroupDecorate=74
id id+integer*: OpGroupMemberDecorate=75
type result id id: OpVectorExtractDynamic=77 OpSampledImage=86 OpImageQuerySizeLod=103 OpImageQueryLod=105 OpIAdd=128
  OpFAdd=129 OpISub=130 OpFSub=131 OpIMul=132 OpFMul=133 OpUDiv=134 OpSDiv=135 OpFDiv=136 OpUMod=137 OpSRem=138 OpSMod=139
  OpFRem=140 OpFMod=141 OpVectorTimesScalar=142 OpDot=148 OpIAddCarry=149 OpISubBorrow=150 OpUMulExtended=151
  OpSMulExtended=152 OpLessOrGreater=161 OpOrdered=162 OpUnordered=163 OpLogicalEqual=164 OpLogicalNotEqual=165
  OpLogicalOr=166 OpLogicalAnd=167 OpIEqual=170 OpINotEqual=171 OpUGreaterThan=172 OpSGreaterThan=173
  OpUGreaterThanEqual=174 OpSGreaterThanEqual=175 OpULessThan=176 OpSLessThan=177 OpULessThanEqual=178 OpSLessThanEqual=179
  OpFOrdEqual=180 OpFUnordEqual=181 OpFOrdNotEqual=182 OpFUnordNotEqual=183 OpFOrdLessThan=184 OpFUnordLessThan=185
  OpFOrdGreaterThan=186 OpFUnordGreaterThan=187 OpFOrdLessThanEqual=188 OpFUnordLessThanEqual=189 OpFOrdGreaterThanEqual=190
  OpFUnordGreaterThanEqual=191 OpShiftRightLogical=194 OpShiftRightArithmetic=195 OpShiftLeftLogical=196 OpBitwiseOr=197
  OpBitwiseXor=198 OpBitwiseAnd=199 OpGroupAll=261 OpGroupAny=262 OpGroupNonUniformAll=334 OpGroupNonUniformAny=335
  OpGroupNonUniformAllEqual=336 OpGroupNonUniformBroadcastFirst=338 OpGroupNonUniformBallot=339
  OpGroupNonUniformInverseBallot=340 OpGroupNonUniformBallotFindLSB=343 OpGroupNonUniformBallotFindMSB=344 OpPtrEqual=401
  OpPtrNotEqual=402 OpPtrDiff=403 OpSubgroupReadInvocationKHR=4432 OpSubgroupShuffleINTEL=5571
  OpSubgroupShuffleXorINTEL=5574 OpAbsISubINTEL=5587 OpAbsUSubINTEL=5588 OpIAddSatINTEL=5589 OpUAddSatINTEL=5590
  OpIAverageINTEL=5591 OpUAverageINTEL=5592 OpIAverageRoundedINTEL=5593 OpUAverageRoundedINTEL=5594 OpISubSatINTEL=5595
  OpUSubSatINTEL=5596 OpIMul32x16INTEL=5597 OpUMul32x16INTEL=5598 OpExpectKHR=5631
type result id id integer*: OpVectorShuffle=79 OpCompositeInsert=82
type result id integer*: OpCompositeExtract=81
type result id id ImageOperands: OpImageSampleExplicitLod=88
type result id id ImageOperands?: OpImageFetch=95 OpImageRead=98
id id id ImageOperands?: OpImageWrite=99
type result id StorageClass: OpGenericCastToPtrExplicit=123
type result id id id id: OpBitFieldInsert=201 OpAtomicExchange=229 OpAtomicIAdd=234 OpAtomicISub=235 OpAtomicSMin=236
  OpAtomicUMin=237 OpAtomicSMax=238 OpAtomicUMax=239 OpAtomicAnd=240 OpAtomicOr=241 OpAtomicXor=242 OpReadPipe=274
  OpWritePipe=275 OpReserveReadPipePackets=278 OpReserveWritePipePackets=279 OpEnqueueMarker=291
  OpGetKernelWorkGroupSize=295 OpGetKernelPreferredWorkGroupSizeMultiple=296 OpGetKernelMaxNumSubgroups=326
  OpAtomicFMinEXT=5614 OpAtomicFMaxEXT=5615 OpAtomicFAddEXT=6035 OpBitwiseFunctionINTEL=6242
id id id: OpControlBarrier=224 OpGroupWaitEvents=260 OpCaptureEventProfilingInfo=302 OpAtomicFlagClear=319
  OpMemoryNamedBarrier=329 OpControlBarrierArriveINTEL=6142 OpControlBarrierWaitINTEL=6143
id id: OpMemoryBarrier=225 OpSetUserEventStatus=301 OpSubgroupBlockWriteINTEL=5576
id id id id: OpAtomicStore=228 OpCommitReadPipe=280 OpCommitWritePipe=281
type result id id id id id id: OpAtomicCompareExchange=230 OpAtomicCompareExchangeWeak=231 OpGroupAsyncCopy=259
  OpReservedReadPipe=276 OpReservedWritePipe=277
type result id+id*: OpPhi=245
id id LoopControl: OpLoopMerge=246
id SelectionControl: OpSelectionMerge=247
id: OpBranch=249 OpReturnValue=254 OpRetainEvent=297 OpReleaseEvent=298 OpAssumeTrueKHR=5630 OpRestoreMemoryINTEL=5820
id id id integer*: OpBranchConditional=250
id id case+id*: OpSwitch=251
id integer: OpLifetimeStart=256 OpLifetimeStop=257
type result id GroupOperation id: OpGroupIAdd=264 OpGroupFAdd=265 OpGroupFMin=266 OpGroupUMin=267 OpGroupSMin=268
  OpGroupFMax=269 OpGroupUMax=270 OpGroupSMax=271 OpGroupNonUniformBallotBitCount=342 OpGroupIMulKHR=6401
  OpGroupFMulKHR=6402 OpGroupBitwiseAndKHR=6403 OpGroupBitwiseOrKHR=6404 OpGroupBitwiseXorKHR=6405 OpGroupLogicalAndKHR=6406
  OpGroupLogicalOrKHR=6407 OpGroupLogicalXorKHR=6408
type result id id id id id: OpGroupReserveReadPipePackets=285 OpGroupReserveWritePipePackets=286
  OpGetKernelNDrangeSubGroupCount=293 OpGetKernelNDrangeMaxSubGroupSize=294 OpGetKernelLocalSizeForSubgroupCount=325
id id id id id: OpGroupCommitReadPipe=287 OpGroupCommitWritePipe=288
type result id id id id id id id id id id id*: OpEnqueueKernel=292
type result integer integer integer: OpConstantPipeStorage=323
type result id GroupOperation id id?: OpGroupNonUniformIAdd=349 OpGroupNonUniformFAdd=350 OpGroupNonUniformIMul=351
  OpGroupNonUniformFMul=352 OpGroupNonUniformSMin=353 OpGroupNonUniformUMin=354 OpGroupNonUniformFMin=355
  OpGroupNonUniformSMax=356 OpGroupNonUniformUMax=357 OpGroupNonUniformFMax=358 OpGroupNonUniformBitwiseAnd=359
  OpGroupNonUniformBitwiseOr=360 OpGroupNonUniformBitwiseXor=361 OpGroupNonUniformLogicalAnd=362
  OpGroupNonUniformLogicalOr=363 OpGroupNonUniformLogicalXor=364
result StorageClass: OpTypeUntypedPointerKHR=4417
type result StorageClass id? id?: OpUntypedVariableKHR=4418
type result id id id id*: OpUntypedPtrAccessChainKHR=4423 OpUntypedInBoundsPtrAccessChainKHR=4424
type result id id integer: OpUntypedArrayLengthKHR=4425
id id id? id? id?: OpUntypedPrefetchKHR=4426
type result id id id id?: OpGroupNonUniformRotateKHR=4431
type result id id id id id id id MemoryAccess? MemoryAccess?: OpUntypedGroupAsyncCopyKHR=4434
type result id id PackedVectorFormat?: OpSDot=4450 OpSDotKHR=4450 OpUDot=4451 OpUDotKHR=4451 OpSUDot=4452 OpSUDotKHR=4452
type result id id id PackedVectorFormat?: OpSDotAccSat=4453 OpSDotAccSatKHR=4453 OpUDotAccSat=4454 OpUDotAccSatKHR=4454
  OpSUDotAccSat=4455 OpSUDotAccSatKHR=4455
result id id id id id: OpTypeCooperativeMatrixKHR=4456
type result id id id? MemoryAccess?: OpCooperativeMatrixLoadKHR=4457
id id id id? MemoryAccess?: OpCooperativeMatrixStoreKHR=4458
type result id id id CooperativeMatrixOperands?: OpCooperativeMatrixMulAddKHR=4459
integer*: OpLoopControlINTEL=5887
id*: OpTypeStructContinuedINTEL=6090 OpConstantCompositeContinuedINTEL=6091 OpSpecConstantCompositeContinuedINTEL=6092
type result id integer id id: OpMaskedGatherINTEL=6428
id id integer id: OpMaskedScatterINTEL=6429
"""

_ENUMERANTS = """
SourceLanguage: Unknown=0 ESSL=1 GLSL=2 OpenCL_C=3 OpenCL_CPP=4 HLSL=5 CPP_for_OpenCL=6 SYCL=7 HERO_C=8 NZSL=9 WGSL=10
  Slang=11 Zig=12 Rust=13
AddressingModel: Logical=0 Physical32=1 Physical64=2 PhysicalStorageBuffer64=5348 PhysicalStorageBuffer64EXT=5348
MemoryModel: Simple=0 GLSL450=1 OpenCL=2
ExecutionModel: Vertex=0 Fragment=4 GLCompute=5 Kernel=6
ExecutionMode: LocalSize=17(integer,integer,integer) LocalSizeHint=18(integer,integer,integer) VecTypeHint=30(integer)
  ContractionOff=31 Initializer=33 Finalizer=34 SubgroupSize=35(integer) SubgroupsPerWorkgroup=36(integer)
  SubgroupsPerWorkgroupId=37(id) LocalSizeId=38(id,id,id) LocalSizeHintId=39(id,id,id) DenormPreserve=4459(integer)
  DenormFlushToZero=4460(integer) SignedZeroInfNanPreserve=4461(integer) RoundingModeRTE=4462(integer)
  RoundingModeRTZ=4463(integer) SharedLocalMemorySizeINTEL=5618(integer) RoundingModeRTPINTEL=5620(integer)
  RoundingModeRTNINTEL=5621(integer) FloatingPointModeALTINTEL=5622(integer) FloatingPointModeIEEEINTEL=5623(integer)
  MaxWorkgroupSizeINTEL=5893(integer,integer,integer) MaxWorkDimINTEL=5894(integer) NoGlobalOffsetINTEL=5895
  FPFastMathDefault=6028(id,id) NamedBarrierCountINTEL=6417(integer) MaximumRegistersINTEL=6461(integer)
  MaximumRegistersIdINTEL=6462(id) NamedMaximumRegistersINTEL=6463(NamedMaximumNumberOfRegisters)
Capability: Matrix=0 Shader=1 Addresses=4 Linkage=5 Kernel=6 Vector16=7 Float16Buffer=8 Float16=9 Float64=10 Int64=11
  Int64Atomics=12 ImageBasic=13 ImageReadWrite=14 ImageMipmap=15 Pipes=17 Groups=18 DeviceEnqueue=19 LiteralSampler=20
  Int16=22 GenericPointer=38 Int8=39 Sampled1D=43 Image1D=44 SampledBuffer=46 ImageBuffer=47 ImageQuery=50
  SubgroupDispatch=58 NamedBarrier=59 PipeStorage=60 GroupNonUniform=61 GroupNonUniformVote=62 GroupNonUniformArithmetic=63
  GroupNonUniformBallot=64 GroupNonUniformShuffle=65 GroupNonUniformShuffleRelative=66 GroupNonUniformClustered=67
  UniformDecoration=71 SubgroupBallotKHR=4423 WorkgroupMemoryExplicitLayoutKHR=4428 SubgroupVoteKHR=4431
  VariablePointersStorageBuffer=4441 VariablePointers=4442 DenormPreserve=4464 DenormFlushToZero=4465
  SignedZeroInfNanPreserve=4466 RoundingModeRTE=4467 RoundingModeRTZ=4468 UntypedPointersKHR=4473 ShaderClockKHR=5055
  Int4TypeINTEL=5112 Int4CooperativeMatrixINTEL=5114 BFloat16TypeKHR=5116 BFloat16DotProductKHR=5117
  BFloat16CooperativeMatrixKHR=5118 PhysicalStorageBufferAddresses=5347 PhysicalStorageBufferAddressesEXT=5347
  AtomicFloat16VectorNV=5404 SubgroupShuffleINTEL=5568 SubgroupBufferBlockIOINTEL=5569 SubgroupImageBlockIOINTEL=5570
  SubgroupImageMediaBlockIOINTEL=5579 RoundToInfinityINTEL=5582 FloatingPointModeINTEL=5583 IntegerFunctions2INTEL=5584
  FunctionPointersINTEL=5603 IndirectReferencesINTEL=5604 AsmINTEL=5606 AtomicFloat32MinMaxEXT=5612
  AtomicFloat64MinMaxEXT=5613 AtomicFloat16MinMaxEXT=5616 VectorComputeINTEL=5617 VectorAnyINTEL=5619 ExpectAssumeKHR=5629
  VariableLengthArrayINTEL=5817 FunctionFloatControlINTEL=5821 FPFastMathModeINTEL=5837
  ArbitraryPrecisionIntegersALTERA=5844 ArbitraryPrecisionIntegersINTEL=5844 UnstructuredLoopControlsINTEL=5886
  KernelAttributesINTEL=5892 MemoryAccessAliasingINTEL=5910 USMStorageClassesALTERA=5935 USMStorageClassesINTEL=5935
  RuntimeAlignedAttributeINTEL=5939 DotProductInputAll=6016 DotProductInputAllKHR=6016 DotProductInput4x8Bit=6017
  DotProductInput4x8BitKHR=6017 DotProductInput4x8BitPacked=6018 DotProductInput4x8BitPackedKHR=6018 DotProduct=6019
  DotProductKHR=6019 CooperativeMatrixKHR=6022 ReplicatedCompositesEXT=6024 BitInstructions=6025
  GroupNonUniformRotateKHR=6026 FloatControls2=6029 FMAKHR=6030 AtomicFloat32AddEXT=6033 AtomicFloat64AddEXT=6034
  LongCompositesINTEL=6089 OptNoneEXT=6094 OptNoneINTEL=6094 AtomicFloat16AddEXT=6095 DebugInfoModuleINTEL=6114
  BFloat16ConversionINTEL=6115 SplitBarrierINTEL=6141 ArithmeticFenceEXT=6144 FPMaxErrorINTEL=6169
  GlobalVariableHostAccessINTEL=6187 SubgroupBufferPrefetchINTEL=6220 Subgroup2DBlockIOINTEL=6228
  Subgroup2DBlockTransformINTEL=6229 Subgroup2DBlockTransposeINTEL=6230 SubgroupMatrixMultiplyAccumulateINTEL=6236
  TernaryBitwiseFunctionINTEL=6241 UntypedVariableLengthArrayINTEL=6243 SpecConditionalINTEL=6245 FunctionVariantsINTEL=6246
  GroupUniformArithmeticKHR=6400 TensorFloat32RoundingINTEL=6425 MaskedGatherScatterINTEL=6427 CacheControlsINTEL=6441
  RegisterLimitsINTEL=6460 BindlessImagesINTEL=6528
FPEncoding: BFloat16KHR=0
Dim: 1D=0 2D=1 3D=2 Cube=3 Buffer=5
ImageFormat: Unknown=0 Rgba32f=1 Rgba16f=2 R32f=3 Rgba8=4 Rgba8Snorm=5 Rgba32i=21 Rgba16i=22 Rgba8i=23 R32i=24 Rgba32ui=30
  Rgba16ui=31 Rgba8ui=32 R32ui=33
AccessQualifier: ReadOnly=0 WriteOnly=1 ReadWrite=2
StorageClass: UniformConstant=0 Input=1 Uniform=2 Output=3 Workgroup=4 CrossWorkgroup=5 Private=6 Function=7 Generic=8
  PushConstant=9 Image=11 StorageBuffer=12 PhysicalStorageBuffer=5349 PhysicalStorageBufferEXT=5349 CodeSectionINTEL=5605
  DeviceOnlyINTEL=5936 HostOnlyINTEL=5937
SamplerAddressingMode: None=0 ClampToEdge=1 Clamp=2 Repeat=3 RepeatMirrored=4
SamplerFilterMode: Nearest=0 Linear=1
mask FunctionControl: None=0 Inline=1 DontInline=2 Pure=4 Const=8 OptNoneEXT=65536 OptNoneINTEL=65536
mask MemoryAccess: None=0 Volatile=1 Aligned=2(integer) Nontemporal=4 AliasScopeINTELMask=65536(id)
  NoAliasINTELMask=131072(id)
Decoration: SpecId=1(integer) RowMajor=4 ColMajor=5 MatrixStride=7(integer) CPacked=10 BuiltIn=11(BuiltIn) Restrict=19
  Aliased=20 Volatile=21 Constant=22 Coherent=23 NonWritable=24 NonReadable=25 Uniform=26 UniformId=27(id)
  SaturatedConversion=28 FuncParamAttr=38(FunctionParameterAttribute) FPRoundingMode=39(FPRoundingMode)
  FPFastMathMode=40(FPFastMathMode) LinkageAttributes=41(string,LinkageType) Alignment=44(integer) MaxByteOffset=45(integer)
  AlignmentId=46(id) MaxByteOffsetId=47(id) NoSignedWrap=4469 NoUnsignedWrap=4470 RestrictPointer=5355
  RestrictPointerEXT=5355 AliasedPointer=5356 AliasedPointerEXT=5356 SIMTCallINTEL=5599(integer)
  ReferencedIndirectlyINTEL=5602 ClobberINTEL=5607(string) SideEffectsINTEL=5608 VectorComputeVariableINTEL=5624
  FuncParamIOKindINTEL=5625(integer) VectorComputeFunctionINTEL=5626 StackCallINTEL=5627
  GlobalVariableOffsetINTEL=5628(integer) CounterBuffer=5634(id) UserSemantic=5635(string)
  FunctionRoundingModeINTEL=5822(integer,FPRoundingMode) FunctionDenormModeINTEL=5823(integer,FPDenormMode)
  AliasScopeINTEL=5914(id) NoAliasINTEL=5915(id) FunctionFloatingPointModeINTEL=6080(integer,FPOperationMode)
  SingleElementVectorINTEL=6085 VectorComputeCallableFunctionINTEL=6087 MediaBlockIOINTEL=6140
  FPMaxErrorDecorationINTEL=6170(float) HostAccessINTEL=6188(HostAccessQualifier,string)
  CacheControlLoadINTEL=6442(integer,LoadCacheControl) CacheControlStoreINTEL=6443(integer,StoreCacheControl)
mask ImageOperands: None=0 Bias=1(id) Lod=2(id) Grad=4(id,id) ConstOffset=8(id) Sample=64(id) SignExtend=4096
  ZeroExtend=8192 Nontemporal=16384 Offsets=65536(id)
mask LoopControl: None=0 Unroll=1 DontUnroll=2 DependencyInfinite=4 DependencyLength=8(integer) MinIterations=16(integer)
  MaxIterations=32(integer) IterationMultiple=64(integer) PeelCount=128(integer) PartialCount=256(integer)
mask SelectionControl: None=0 Flatten=1 DontFlatten=2
GroupOperation: Reduce=0 InclusiveScan=1 ExclusiveScan=2 ClusteredReduce=3
PackedVectorFormat: PackedVectorFormat4x8Bit=0 PackedVectorFormat4x8BitKHR=0
mask CooperativeMatrixOperands: NoneKHR=0 MatrixASignedComponentsKHR=1 MatrixBSignedComponentsKHR=2
  MatrixCSignedComponentsKHR=4 MatrixResultSignedComponentsKHR=8 SaturatingAccumulationKHR=16
NamedMaximumNumberOfRegisters: AutoINTEL=0
BuiltIn: NumWorkgroups=24 WorkgroupSize=25 WorkgroupId=26 LocalInvocationId=27 GlobalInvocationId=28 LocalInvocationIndex=29
  WorkDim=30 GlobalSize=31 EnqueuedWorkgroupSize=32 GlobalOffset=33 GlobalLinearId=34 SubgroupSize=36 SubgroupMaxSize=37
  NumSubgroups=38 NumEnqueuedSubgroups=39 SubgroupId=40 SubgroupLocalInvocationId=41 SubgroupEqMask=4416
  SubgroupEqMaskKHR=4416 SubgroupGeMask=4417 SubgroupGeMaskKHR=4417 SubgroupGtMask=4418 SubgroupGtMaskKHR=4418
  SubgroupLeMask=4419 SubgroupLeMaskKHR=4419 SubgroupLtMask=4420 SubgroupLtMaskKHR=4420
FunctionParameterAttribute: Zext=0 Sext=1 ByVal=2 Sret=3 NoAlias=4 NoCapture=5 NoWrite=6 NoReadWrite=7
FPRoundingMode: RTE=0 RTZ=1 RTP=2 RTN=3
mask FPFastMathMode: None=0 NotNaN=1 NotInf=2 NSZ=4 AllowRecip=8 Fast=16 AllowContract=65536 AllowContractFastINTEL=65536
  AllowReassoc=131072 AllowReassocINTEL=131072 AllowTransform=262144
LinkageType: Export=0 Import=1 LinkOnceODR=2
FPDenormMode: Preserve=0 FlushToZero=1
FPOperationMode: IEEE=0 ALT=1
HostAccessQualifier: NoneINTEL=0 ReadINTEL=1 WriteINTEL=2 ReadWriteINTEL=3
LoadCacheControl: UncachedINTEL=0 CachedINTEL=1 StreamingINTEL=2 InvalidateAfterReadINTEL=3 ConstCachedINTEL=4
StoreCacheControl: UncachedINTEL=0 WriteThroughINTEL=1 WriteBackINTEL=2 StreamingINTEL=3
"""

_OPENCL = """
id: acos=0 acosh=1 acospi=2 asin=3 asinh=4 asinpi=5 atan=6 atanh=8 atanpi=9 cbrt=11 ceil=12 cos=14 cosh=15 cospi=16 erfc=17
  erf=18 exp=19 exp2=20 exp10=21 expm1=22 fabs=23 floor=25 ilogb=33 lgamma=35 log=37 log2=38 log10=39 log1p=40 logb=41
  nan=46 rint=53 round=55 rsqrt=56 sin=57 sinh=59 sinpi=60 sqrt=61 tan=62 tanh=63 tanpi=64 tgamma=65 trunc=66 half_cos=67
  half_exp=69 half_exp2=70 half_exp10=71 half_log=72 half_log2=73 half_log10=74 half_recip=76 half_rsqrt=77 half_sin=78
  half_sqrt=79 half_tan=80 native_cos=81 native_exp=83 native_exp2=84 native_exp10=85 native_log=86 native_log2=87
  native_log10=88 native_recip=90 native_rsqrt=91 native_sin=92 native_sqrt=93 native_tan=94 degrees=96 radians=100 sign=103
  length=106 normalize=107 fast_length=109 fast_normalize=110 s_abs=141 clz=151 ctz=152 popcount=166 u_abs=201
id id: atan2=7 atan2pi=10 copysign=13 fdim=24 fmax=27 fmin=28 fmod=29 fract=30 frexp=31 hypot=32 ldexp=34 lgamma_r=36
  maxmag=43 minmag=44 modf=45 nextafter=47 pow=48 pown=49 powr=50 remainder=51 rootn=54 sincos=58 half_divide=68
  half_powr=75 native_divide=82 native_powr=89 fmax_common=97 fmin_common=98 step=101 cross=104 distance=105
  fast_distance=108 s_abs_diff=142 s_add_sat=143 u_add_sat=144 s_hadd=145 u_hadd=146 s_rhadd=147 u_rhadd=148 s_max=156
  u_max=157 s_min=158 u_min=159 s_mul_hi=160 rotate=161 s_sub_sat=162 u_sub_sat=163 u_upsample=164 s_upsample=165
  s_mul24=169 u_mul24=170 vload_half=173 shuffle=182 prefetch=185 u_abs_diff=202 u_mul_hi=203
id id id: fma=26 mad=42 remquo=52 fclamp=95 mix=99 smoothstep=102 s_clamp=149 u_clamp=150 s_mad_hi=153 u_mad_sat=154
  s_mad_sat=155 s_mad24=167 u_mad24=168 vstoren=172 vstore_half=175 vstore_halfn=177 vstorea_halfn=180 shuffle2=183
  bitselect=186 select=187 u_mad_hi=204
id id integer: vloadn=171 vload_halfn=174 vloada_halfn=179
id id id FPRoundingMode: vstore_half_r=176 vstore_halfn_r=178 vstorea_halfn_r=181
id id*: printf=184
"""


class Operand(NamedTuple):
    """What may stand at a place: the kinds of what stands there together, and "", "?" or "*"."""

    kinds: tuple[str, ...]
    quantifier: str

    def __str__(self) -> str:
        return "+".join(self.kinds) + self.quantifier


class Instruction(NamedTuple):
    """The number of an instruction, and its operands, the result among them."""

    opcode: int
    operands: tuple[Operand, ...]


class Enumeration(NamedTuple):
    """Names of numbers, whether a number is a mask of them, and what each is followed by."""

    is_mask: bool
    values: dict[str, tuple[int, tuple[Operand, ...]]]


@functools.cache
def instructions() -> dict[str, Instruction]:
    """SPIR-V's instructions by name.

    >>> opcode, operands = instructions()["OpTypeInt"]
    >>> opcode, [str(operand) for operand in operands]
    (21, ['result', 'integer', 'integer'])
    """
    return _instructions(_INSTRUCTIONS)


@functools.cache
def opencl_instructions() -> dict[str, Instruction]:
    """The instructions of the set OpenCL.std by name."""
    return _instructions(_OPENCL)


@functools.cache
def enumerations() -> dict[str, Enumeration]:
    """The tables of names of numbers.

    >>> enumerations()["StorageClass"].values["CrossWorkgroup"]
    (5, ())
    """
    found = {}
    for key, names in _lines(_ENUMERANTS):
        values = {name: (number, _operands(rest.replace(",", " "))) for name, number, rest in names}
        found[key.removeprefix("mask ")] = Enumeration(key.startswith("mask "), values)
    return found


def _instructions(table: str) -> dict[str, Instruction]:
    return {name: Instruction(number, _operands(operands)) for operands, names in _lines(table) for name, number, _ in names}


def _lines(table: str) -> list[tuple[str, list[tuple[str, int, str]]]]:
    lines = [line.partition(":") for line in table.strip().replace("\n  ", " ").split("\n")]
    return [(key, [_named(one) for one in names.split()]) for key, _, names in lines]


def _named(text: str) -> tuple[str, int, str]:
    name, _, rest = text.partition("=")
    number, _, followed_by = rest.partition("(")
    return name, int(number), followed_by.rstrip(")")


def _operands(text: str) -> tuple[Operand, ...]:
    found = re.findall(r"([\w+]+)([?*]?)", text)
    return tuple([Operand(tuple(kinds.split("+")), quantifier) for kinds, quantifier in found])
