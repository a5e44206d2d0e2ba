import { ApiClient, type ClusterAccess } from '../../src/client/index.ts'
import type { AutoscalingSettings } from '../../src/controllers/autoscaling/autoscaler.ts'
import type { SigningSettings } from '../../src/controllers/certificates/signing-controller.ts'
import { type ControllerMetrics, createControllerMetrics } from '../../src/controllers/runtime/metrics.ts'
import { createMetrics } from '../../src/observe/index.ts'
import { type TestServer, testToken } from './api-server.ts'

/** A client of the test's server, with all rights. */
export function clientOfServer(server: TestServer): ApiClient {
  return new ApiClient(accessOfServer(server))
}

export function accessOfServer(server: TestServer): ClusterAccess {
  return {
    server: server.url,
    certificateAuthority: server.authority.certPem,
    skipTlsVerify: false,
    bearer: { kind: 'token', token: testToken },
  }
}

export function freshControllerMetrics(): ControllerMetrics {
  return createControllerMetrics(createMetrics())
}

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
