import fc from 'fast-check'
import type { EndpointSlice } from '../../src/model/endpoint-slice.ts'
import type { Service } from '../../src/model/service.ts'
import { makeEndpoint, makePort, makeService, makeSlice } from './services.ts'

export interface ServiceState {
  readonly service: Service
  readonly slices: readonly EndpointSlice[]
}

const ports = [makePort('http', 'TCP', 80, 30080), makePort('dns', 'UDP', 53), makePort('', 'SCTP', 9, 30009)] as const

/** One of a handful of Services (`default/s0` …) in any of its states, few enough that events meet. */
export const anyServiceState: fc.Arbitrary<ServiceState> = fc
  .record({
    index: fc.nat(4),
    ports: fc.subarray([...ports]),
    affinity: fc.constantFrom({}, { affinity: { timeoutSeconds: 10800 } }),
    hosts: fc.uniqueArray(fc.nat(5)),
    terminating: fc.boolean(),
  })
  .map(({ index, hosts, terminating, ...details }) => {
    const key = `default/s${index}`
    const endpoints = hosts.map((host) =>
      makeEndpoint(`10.244.${index}.${host}`, {
        ready: !terminating || host % 2 === 0,
        terminating: terminating && host % 2 === 1,
      }),
    )
    const nodePorts = details.ports.map((port) => ({
      ...port,
      ...(port.nodePort && { nodePort: port.nodePort + index }),
    }))
    return {
      service: makeService(key, `10.96.0.${index + 1}`, { ...details.affinity, ports: nodePorts }),
      slices: [
        makeSlice(
          key,
          [
            ['http', 'TCP', 8080],
            ['dns', 'UDP', 53],
            ['', 'SCTP', 9],
          ],
          endpoints,
        ),
      ],
    }
  })

/** What a watch may tell, one after the other: a Service as it is now, or (by its key) that it is gone. */
export const anyEvents: fc.Arbitrary<readonly (ServiceState | string)[]> = fc.array(
  fc.oneof({ weight: 4, arbitrary: anyServiceState }, { weight: 1, arbitrary: fc.nat(4).map((n) => `default/s${n}`) }),
  { maxLength: 20 },
)
