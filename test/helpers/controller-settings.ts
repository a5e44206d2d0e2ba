// Settings of controllers. No code of a server is loaded with them, so that a process that measures its memory can use them.
import type { AutoscalingSettings } from '../../src/controllers/autoscaling/autoscaler.ts'
import type { SigningSettings } from '../../src/controllers/certificates/signing-controller.ts'

/** The defaults of kube-controller-manager. */
export const autoscalingDefaults: AutoscalingSettings = {
  syncPeriodMs: 15_000,
  downscaleStabilizationMs: 300_000,
  tolerance: 0.1,
  cpuInitializationPeriodMs: 300_000,
  initialReadinessDelayMs: 30_000,
  concurrentSyncs: 5,
}

/** No certificate request is signed. */
export const noSigning: SigningSettings = {
  signer: {
    read: () => Promise.reject(new Error('this test signs nothing')),
    sign: () => Promise.reject(new Error('this test signs nothing')),
  },
  longestMs: () => 365 * 86_400_000,
}
