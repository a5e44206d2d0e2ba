import type { PodCase } from './pod-case.ts'

const http = { httpGet: { path: '/', port: 80 } }
const mount = { name: 'data', mountPath: '/data' }
const c0 = 'spec.containers[0]'

const container = (title: string, container: object, ...errors: string[]): PodCase => ({ title, container, errors })

/** Each is one step away from a valid container. */
export const containerCases: readonly PodCase[] = [
  container('no name', { name: '' }, `${c0}.name`),
  container('a name in capitals', { name: 'Web' }, `${c0}.name`),
  container('a name of 64 characters', { name: 'a'.repeat(64) }, `${c0}.name`),
  container('a pull policy that is none', { imagePullPolicy: 'Sometimes' }, `${c0}.imagePullPolicy`),
  container('a message policy that is none', { terminationMessagePolicy: 'Pipe' }, `${c0}.terminationMessagePolicy`),
  container('an image with a blank at its end', { image: 'web ' }, `${c0}.image`),
  container('a restart policy', { restartPolicy: 'Always' }, `${c0}.restartPolicy`),
  container('a port of 0', { ports: [{ containerPort: 0 }] }, `${c0}.ports[0].containerPort`),
  container('a port of 70000', { ports: [{ containerPort: 70_000 }] }, `${c0}.ports[0].containerPort`),
  container('a host port of 70000', { ports: [{ containerPort: 80, hostPort: 70_000 }] }, `${c0}.ports[0].hostPort`),
  container('a protocol that is none', { ports: [{ containerPort: 80, protocol: 'ICMP' }] }, `${c0}.ports[0].protocol`),
  container('a port name of digits', { ports: [{ containerPort: 80, name: '80' }] }, `${c0}.ports[0].name`),
  container(
    'two ports of one name',
    {
      ports: [
        { containerPort: 80, name: 'a' },
        { containerPort: 81, name: 'a' },
      ],
    },
    `${c0}.ports[1].name`,
  ),
  container(
    'one host port twice',
    {
      ports: [
        { containerPort: 80, hostPort: 80 },
        { containerPort: 81, hostPort: 80 },
      ],
    },
    `${c0}.ports[1].hostPort`,
  ),
  container('a variable without name', { env: [{ name: '', value: 'x' }] }, `${c0}.env[0].name`),
  container('a variable with an equals sign', { env: [{ name: 'A=B', value: 'x' }] }, `${c0}.env[0].name`),
  container('a variable from nowhere', { env: [{ name: 'A', valueFrom: {} }] }, `${c0}.env[0].valueFrom`),
  container(
    'a variable with value and source',
    { env: [{ name: 'A', value: 'x', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } }] },
    `${c0}.env[0].valueFrom`,
  ),
  container(
    'a variable of a field that is none',
    { env: [{ name: 'A', valueFrom: { fieldRef: { fieldPath: 'spec.nothing' } } }] },
    `${c0}.env[0].valueFrom.fieldRef.fieldPath`,
  ),
  container('a variable of a label', {
    env: [{ name: 'A', valueFrom: { fieldRef: { fieldPath: "metadata.labels['app']" } } }],
  }),
  container(
    'a variable of a ConfigMap key with a slash',
    { env: [{ name: 'A', valueFrom: { configMapKeyRef: { name: 'c', key: 'a/b' } } }] },
    `${c0}.env[0].valueFrom.configMapKeyRef.key`,
  ),
  container(
    'a variable of a Secret without key',
    { env: [{ name: 'A', valueFrom: { secretKeyRef: { name: 'c', key: '' } } }] },
    `${c0}.env[0].valueFrom.secretKeyRef.key`,
  ),
  container(
    'a variable of a resource that is none',
    { env: [{ name: 'A', valueFrom: { resourceFieldRef: { resource: 'limits.gpu' } } }] },
    `${c0}.env[0].valueFrom.resourceFieldRef.resource`,
  ),
  container(
    'a divisor that is none',
    { env: [{ name: 'A', valueFrom: { resourceFieldRef: { resource: 'limits.cpu', divisor: '2' } } }] },
    `${c0}.env[0].valueFrom.resourceFieldRef.divisor`,
  ),
  container('variables from nowhere', { envFrom: [{ prefix: 'A_' }] }, `${c0}.envFrom`),
  container(
    'variables of a ConfigMap without name',
    { envFrom: [{ configMapRef: {} }] },
    `${c0}.envFrom[0].configMapRef.name`,
  ),
  container(
    'a request above its limit',
    { resources: { limits: { cpu: '1' }, requests: { cpu: '2' } } },
    `${c0}.resources.requests`,
  ),
  container(
    'a negative limit',
    { resources: { limits: { memory: '-1Mi' } } },
    `${c0}.resources.limits[memory]`,
    `${c0}.resources.requests[memory]`,
  ),
  container(
    'a resource that is none',
    { resources: { limits: { gpu: '1' } } },
    `${c0}.resources.limits[gpu]`,
    `${c0}.resources.limits[gpu]`,
    `${c0}.resources.requests[gpu]`,
    `${c0}.resources.requests[gpu]`,
  ),
  container(
    'half a device',
    { resources: { limits: { 'example.com/gpu': '500m' } } },
    `${c0}.resources.limits[example.com/gpu]`,
    `${c0}.resources.requests[example.com/gpu]`,
  ),
  container('huge pages alone', { resources: { limits: { 'hugepages-2Mi': '4Mi' } } }, `${c0}.resources`),
  container(
    'a claim of a resource that the Pod does not have',
    { resources: { claims: [{ name: 'gpu' }] } },
    `${c0}.resources.claims[0]`,
  ),
  container(
    'a mount of no volume',
    { volumeMounts: [{ name: 'gone', mountPath: '/data' }] },
    `${c0}.volumeMounts[0].name`,
  ),
  container(
    'a mount without a path',
    { volumeMounts: [{ name: 'data', mountPath: '' }] },
    `${c0}.volumeMounts[0].mountPath`,
  ),
  container('two mounts at one place', { volumeMounts: [mount, mount] }, `${c0}.volumeMounts[1].mountPath`),
  container(
    'a mount of a path above the volume',
    { volumeMounts: [{ ...mount, subPath: '../x' }] },
    `${c0}.volumeMounts.subPath`,
  ),
  container(
    'a mount of an absolute path',
    { volumeMounts: [{ ...mount, subPath: '/x' }] },
    `${c0}.volumeMounts.subPath`,
  ),
  container(
    'mounts that go to the host',
    { volumeMounts: [{ ...mount, mountPropagation: 'Bidirectional' }] },
    `${c0}.volumeMounts.mountPropagation`,
  ),
  container(
    'a mount that is only partly read-only',
    { volumeMounts: [{ ...mount, recursiveReadOnly: 'Enabled' }] },
    `${c0}.volumeMounts.recursiveReadOnly`,
  ),
  container(
    'a device of a folder',
    { volumeDevices: [{ name: 'data', devicePath: '/dev/x' }] },
    `${c0}.volumeDevices[0].name`,
  ),
  container('a probe of nothing', { livenessProbe: { periodSeconds: 1 } }, `${c0}.livenessProbe`),
  container(
    'a probe in two ways',
    { livenessProbe: { ...http, tcpSocket: { port: 80 } } },
    `${c0}.livenessProbe.tcpSocket`,
  ),
  container(
    'a probe with a negative period',
    { readinessProbe: { ...http, periodSeconds: -1 } },
    `${c0}.readinessProbe.periodSeconds`,
  ),
  container(
    'a liveness probe that must succeed twice',
    { livenessProbe: { ...http, successThreshold: 2 } },
    `${c0}.livenessProbe.successThreshold`,
  ),
  container('a readiness probe that must succeed twice', { readinessProbe: { ...http, successThreshold: 2 } }),
  container(
    'a readiness probe with a grace period',
    { readinessProbe: { ...http, terminationGracePeriodSeconds: 5 } },
    `${c0}.readinessProbe.terminationGracePeriodSeconds`,
  ),
  container('a probe of port 0', { livenessProbe: { tcpSocket: { port: 0 } } }, `${c0}.livenessProbe.tcpSocket.port`),
  container(
    'a probe of a port with a bad name',
    { livenessProbe: { httpGet: { port: 'Not_A_Port' } } },
    `${c0}.livenessProbe.httpGet.port`,
  ),
  container(
    'a probe by FTP',
    { livenessProbe: { httpGet: { port: 80, scheme: 'FTP' } } },
    `${c0}.livenessProbe.httpGet.scheme`,
  ),
  container(
    'a probe with a bad header',
    { livenessProbe: { httpGet: { port: 80, httpHeaders: [{ name: 'A B', value: 'x' }] } } },
    `${c0}.livenessProbe.httpGet.httpHeaders`,
  ),
  container(
    'a probe of an empty command',
    { livenessProbe: { exec: { command: [] } } },
    `${c0}.livenessProbe.exec.command`,
  ),
  container(
    'a gRPC probe of port 70000',
    { livenessProbe: { grpc: { port: 70_000 } } },
    `${c0}.livenessProbe.grpc.port`,
  ),
  container('a hook that does nothing', { lifecycle: { preStop: {} } }, `${c0}.lifecycle.preStop`),
  container(
    'a sleep longer than the grace',
    { lifecycle: { preStop: { sleep: { seconds: 100 } } } },
    `${c0}.lifecycle.preStop.sleep`,
  ),
  container(
    'a stop signal without an operating system',
    { lifecycle: { stopSignal: 'SIGTERM' } },
    `${c0}.lifecycle.stopSignal`,
  ),
  container('a negative user', { securityContext: { runAsUser: -1 } }, `${c0}.securityContext.runAsUser`),
  container(
    'a profile that is none',
    { securityContext: { seccompProfile: { type: 'Strict' } } },
    `${c0}.securityContext.seccompProfile.type`,
  ),
  container(
    'a profile of the node without a file',
    { securityContext: { seccompProfile: { type: 'Localhost' } } },
    `${c0}.securityContext.seccompProfile.localhostProfile`,
  ),
  container(
    'a profile with a file that is not of the node',
    { securityContext: { seccompProfile: { type: 'RuntimeDefault', localhostProfile: 'x' } } },
    `${c0}.securityContext.seccompProfile.localhostProfile`,
  ),
  container(
    'the capability to gain privileges and its ban',
    { securityContext: { allowPrivilegeEscalation: false, capabilities: { add: ['CAP_SYS_ADMIN'] } } },
    `${c0}.securityContext`,
  ),
  container(
    'an unmasked /proc with the users of the host',
    { securityContext: { procMount: 'Unmasked' } },
    `${c0}.securityContext.procMount`,
  ),
  container(
    'resizing of what cannot be resized',
    { resizePolicy: [{ resourceName: 'disk', restartPolicy: 'NotRequired' }] },
    `${c0}.resizePolicy`,
  ),
]
