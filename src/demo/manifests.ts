import type { ApiObject } from '../model/api-object.ts'
import type { Dialect } from '../model/dialect.ts'
import type { Ip } from '../model/ip.ts'

const namespace = 'default'
const portName = 'http'
const className = 'demo'
const secretName = 'demo-tls'

export interface ServiceDescription {
  readonly name: string
  readonly type: 'ClusterIP' | 'NodePort'
  readonly sessionAffinity: 'None' | 'ClientIP'
  /** Selects the Service's pods; without a selector no controller writes its EndpointSlices. */
  readonly selector?: Readonly<Record<string, string>>
}

/** A terminating endpoint still serves what it has, but gets nothing new. */
export interface PodEndpoint {
  readonly name: string
  readonly address: Ip
  readonly port: number
  readonly phase: 'ready' | 'terminating'
}

export function describeService(service: ServiceDescription): ApiObject {
  const { name, type, sessionAffinity, selector } = service
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name, namespace },
    spec: {
      type,
      sessionAffinity,
      ...(selector && { selector }),
      ports: [{ name: portName, protocol: 'TCP', port: 80, targetPort: 8080 }],
    },
  }
}

/** A NetworkPolicy that isolates the pods with that label, and allows connections from the same pods to port 8080 or none. */
export function describePolicy(
  dialect: Dialect,
  name: string,
  app: string,
  allows: 'nothing' | 'same-pods',
): ApiObject {
  const pods = { podSelector: { matchLabels: { app } } }
  return {
    apiVersion: `${dialect.groups.networking}/v1`,
    kind: 'NetworkPolicy',
    metadata: { name, namespace },
    spec: {
      ...pods,
      policyTypes: ['Ingress'],
      ingress: allows === 'nothing' ? [] : [{ from: [pods], ports: [{ protocol: 'TCP', port: 8080 }] }],
    },
  }
}

export function describeIngressClass({ groups, domain }: Dialect): ApiObject {
  return {
    apiVersion: `${groups.networking}/v1`,
    kind: 'IngressClass',
    metadata: { name: className },
    spec: { controller: `${domain}/ingress` },
  }
}

/** A Secret with a certificate and its key, as PEM. */
export function describeTlsSecret(pair: { readonly certPem: string; readonly keyPem: string }): ApiObject {
  const base64 = (pem: string) => Buffer.from(pem).toString('base64')
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: secretName, namespace },
    data: { 'tls.crt': base64(pair.certPem), 'tls.key': base64(pair.keyPem) },
  }
}

/** An Ingress that serves the Service `web` under these hosts, one of them also with the certificate of the Secret. */
export function describeIngress({ groups }: Dialect, hosts: readonly string[], secureHost: string): ApiObject {
  const backend = { service: { name: 'web', port: { name: portName } } }
  return {
    apiVersion: `${groups.networking}/v1`,
    kind: 'Ingress',
    metadata: { name: 'web', namespace },
    spec: {
      ingressClassName: className,
      tls: [{ hosts: [secureHost], secretName }],
      rules: hosts.map((host) => ({ host, http: { paths: [{ path: '/', pathType: 'Prefix', backend }] } })),
    },
  }
}

export function describeSlice(dialect: Dialect, service: string, endpoints: readonly PodEndpoint[]): ApiObject {
  return {
    apiVersion: `${dialect.groups.discovery}/v1`,
    kind: 'EndpointSlice',
    metadata: { name: `${service}-demo`, namespace, labels: { [dialect.labels.serviceName]: service } },
    addressType: 'IPv4',
    ports: [{ name: portName, protocol: 'TCP', port: endpoints[0]?.port ?? 8080 }],
    endpoints: endpoints.map(({ name, address, phase }) => ({
      addresses: [address],
      conditions: { ready: phase === 'ready', serving: true, terminating: phase === 'terminating' },
      targetRef: { kind: 'Pod', namespace, name },
    })),
  }
}
