import { ApiClient, type ClusterAccess } from '../../src/client/index.ts'
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
