import { z } from 'zod'
import type { OptionValues } from '../../config/index.ts'
import {
  byteSize,
  declareOptions,
  dualStackAddresses,
  duration,
  listenAddresses,
  wholeNumber,
} from '../../config/index.ts'
import type { IngressLimits, IngressSettings } from './driver.ts'

const commands = ['run', 'agent'] as const

const drivers = ['auto', 'haproxy', 'in-process'] as const

const objectName = '[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?'
const expectedShare = 'off, or the share of requests from 0.001 to 1 (1 for all)'

/** 0 for `off`. */
const share = z.codec(
  z.union([z.string(), z.number(), z.boolean()], { error: `expected ${expectedShare}` }),
  z.number(),
  {
    decode: (input, context) => {
      if (input === 'off' || input === false) return 0
      const value = /^\d(\.\d{1,3})?$/.test(String(input)) ? Number(input) : 0
      if (value > 0 && value <= 1) return value
      context.issues.push({ code: 'custom', input, message: `expected ${expectedShare}` })
      return z.NEVER
    },
    encode: (value) => (value === 0 ? 'off' : value),
  },
)

export const ingressOptions = declareOptions({
  ingressDriver: {
    schema: z.enum(drivers, { error: `expected one of: ${drivers.join(', ')}` }),
    flag: '--ingress-driver <driver>',
    default: 'auto',
    reload: 'restart',
    commands,
    description:
      'The proxy that serves Ingresses: haproxy, or one in the agent itself; auto is haproxy if it is installed',
  },
  ingressHttpAddresses: {
    schema: listenAddresses,
    flag: '--ingress-http-addresses <list>',
    default: '0.0.0.0:80,[::]:80',
    reload: 'restart',
    commands,
    description: 'Addresses and ports on which Ingresses are served over plain HTTP; none for no such listener',
  },
  ingressHttpsAddresses: {
    schema: listenAddresses,
    flag: '--ingress-https-addresses <list>',
    default: '0.0.0.0:443,[::]:443',
    reload: 'restart',
    commands,
    description: 'Addresses and ports on which Ingresses are served over HTTPS; none for no such listener',
  },
  ingressControllerName: {
    schema: z
      .string('expected a name such as example.com/ingress')
      .regex(/^[a-z0-9.-]{1,253}\/[A-Za-z0-9._~/-]{1,200}$/, { error: 'expected a name such as example.com/ingress' })
      .optional(),
    flag: '--ingress-controller-name <name>',
    reload: 'restart',
    commands,
    description:
      'The spec.controller of the IngressClasses that this node serves; <platform domain>/ingress when not set',
    example: 'example.com/ingress',
  },
  ingressDefaultCertificate: {
    schema: z
      .string('expected NAMESPACE/NAME of a Secret')
      .regex(new RegExp(`^${objectName}/${objectName}$`), { error: 'expected NAMESPACE/NAME of a Secret' })
      .optional(),
    flag: '--ingress-default-certificate <secret>',
    reload: 'restart',
    commands,
    description:
      'The TLS Secret (NAMESPACE/NAME) for names that no Ingress has a certificate for; a self-signed one when not set',
    example: 'ingress/wildcard-tls',
  },
  ingressAddress: {
    schema: dualStackAddresses.optional(),
    flag: '--ingress-address <ip>',
    reload: 'restart',
    commands,
    description:
      'The address in the status of Ingresses that clients reach this node by; the addresses of the node when not set',
    example: '203.0.113.10',
  },
  ingressMaxHeaderBytes: {
    schema: byteSize(4096, 1024 * 1024),
    flag: '--ingress-max-header-bytes <bytes>',
    default: '16Ki',
    reload: 'restart',
    commands,
    description: 'The largest request line with headers; more is answered 431 or 400',
  },
  ingressMaxConnections: {
    schema: wholeNumber(10, 1_000_000),
    flag: '--ingress-max-connections <count>',
    default: 10_000,
    reload: 'restart',
    commands,
    description: 'Connections of clients at once',
  },
  ingressConnectionsPerClient: {
    schema: wholeNumber(0, 1_000_000),
    flag: '--ingress-connections-per-client <count>',
    default: 1_000,
    reload: 'restart',
    commands,
    description: 'Connections of one client address at once; 0 for no limit',
  },
  ingressRequestsPerClient: {
    schema: wholeNumber(0, 1_000_000),
    flag: '--ingress-requests-per-client <count>',
    default: 0,
    reload: 'restart',
    commands,
    description:
      'Requests of one client address in one second, more are answered 429; 0 for no limit, because clients may share an address',
  },
  ingressMaxBodyBytes: {
    schema: byteSize(0, 1024 * 1024 * 1024 * 1024),
    flag: '--ingress-max-body-bytes <bytes>',
    default: '1024Mi',
    reload: 'restart',
    commands,
    description:
      'The largest body of a request; a larger one is answered 413; 0 for no limit, with which haproxy passes bodies without a length faster',
  },
  ingressHeaderTimeout: {
    schema: duration,
    flag: '--ingress-header-timeout <duration>',
    default: '10s',
    reload: 'restart',
    commands,
    description: 'How long a client may take for the headers of a request',
  },
  ingressIdleTimeout: {
    schema: duration,
    flag: '--ingress-idle-timeout <duration>',
    default: '1m',
    reload: 'restart',
    commands,
    description: 'How long a connection of a client may be idle, and a client silent within the body of a request',
  },
  ingressBackendTimeout: {
    schema: duration,
    flag: '--ingress-backend-timeout <duration>',
    default: '1m',
    reload: 'restart',
    commands,
    description: 'How long a backend may be silent before and within its answer; the request is answered 504',
  },
  ingressAccessLog: {
    schema: share,
    flag: '--ingress-access-log <share>',
    default: 'off',
    reload: 'restart',
    commands,
    description: 'The share of requests that get a line in the log: off, or 0.001 to 1',
    example: '0.01',
  },
})

/** Whether the number of connections is the default, which also `platnet run` gives its agent. */
export function hasDefaultConnections({ maxConnections }: Pick<IngressLimits, 'maxConnections'>): boolean {
  return maxConnections === ingressOptions.ingressMaxConnections.default
}

/** The parts of the options that both drivers need. */
export function ingressSettings(values: OptionValues<typeof ingressOptions>): IngressSettings {
  return {
    httpAddresses: values.ingressHttpAddresses,
    httpsAddresses: values.ingressHttpsAddresses,
    limits: {
      maxHeaderBytes: values.ingressMaxHeaderBytes,
      maxConnections: values.ingressMaxConnections,
      connectionsPerClient: values.ingressConnectionsPerClient,
      requestsPerClient: values.ingressRequestsPerClient,
      maxBodyBytes: values.ingressMaxBodyBytes,
      headerTimeoutMs: values.ingressHeaderTimeout,
      idleTimeoutMs: values.ingressIdleTimeout,
      backendTimeoutMs: values.ingressBackendTimeout,
    },
  }
}
