import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { createDialect } from '../../../../src/model/dialect.ts'
import { expandReferences, type LaunchDecision, planLaunch } from '../../../../src/node/pods/container-launch.ts'
import { type ParsedPod, parsePod } from '../../../../src/node/pods/pod-spec.ts'
import { ipOf } from '../../../helpers/addresses.ts'

const dialect = createDialect('platform')
const facts = {
  nodeName: 'node-1',
  hostIp: ipOf('192.0.2.1'),
  podIps: [ipOf('10.244.0.7')],
  apiService: undefined,
  runsImages: false,
  rootFilesystems: '/srv/roots',
}

function parse(spec: object, metadata: object = {}): ParsedPod {
  return parsePod({ metadata: { name: 'web-1', namespace: 'shop', uid: 'u-1', ...metadata }, spec }, dialect)
}

function launch(container: object, metadata: object = {}, spec: object = {}): LaunchDecision {
  const parsed = parse({ containers: [{ name: 'c', ...container }], ...spec }, metadata)
  assert.equal(parsed.kind, 'pod', JSON.stringify(parsed))
  if (parsed.kind !== 'pod') throw new Error('not a pod')
  const [first] = parsed.pod.spec.containers
  assert.ok(first)
  return planLaunch(parsed.pod, first, facts, dialect)
}

describe('the launch of a container', () => {
  test('variables are values, fields of the pod and references to earlier variables', () => {
    const decision = launch({
      command: ['serve', '--name=$(NAME)', '$$(NAME)', '$(UNKNOWN)'],
      args: ['$(NEXT)'],
      env: [
        { name: 'NAME', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
        { name: 'IP', valueFrom: { fieldRef: { fieldPath: 'status.podIP' } } },
        { name: 'NEXT', value: '$(NAME) at $(IP)' },
      ],
    })
    assert.equal(decision.kind, 'launch')
    if (decision.kind !== 'launch') return
    assert.deepEqual(decision.launch.command, ['serve', '--name=web-1', '$(NAME)', '$(UNKNOWN)', 'web-1 at 10.244.0.7'])
    const env = Object.fromEntries(decision.launch.env)
    assert.deepEqual(
      [env['NAME'], env['IP'], env['NEXT'], env['HOSTNAME']],
      ['web-1', '10.244.0.7', 'web-1 at 10.244.0.7', 'web-1'],
    )
  })

  test('variables have the address of the API server, unless the container sets its own', () => {
    const parsed = parse({
      containers: [{ name: 'c', command: ['x'], env: [{ name: 'KUBERNETES_SERVICE_PORT', value: '1' }] }],
    })
    assert.ok(parsed.kind === 'pod')
    const [container] = parsed.pod.spec.containers
    assert.ok(container)
    const apiService = { ip: ipOf('10.96.0.1'), port: 443 }
    const decision = planLaunch(parsed.pod, container, { ...facts, apiService }, dialect)
    assert.ok(decision.kind === 'launch')
    const env = Object.fromEntries(decision.launch.env)
    const names = ['KUBERNETES_SERVICE_HOST', 'KUBERNETES_SERVICE_PORT', 'KUBERNETES_SERVICE_PORT_HTTPS']
    assert.deepEqual(
      names.map((name) => env[name]),
      ['10.96.0.1', '1', '443'],
    )
  })

  test('limits are quantities, and the user of the container overrides that of the pod', () => {
    const decision = launch(
      { command: ['x'], resources: { limits: { cpu: '250m', memory: '64Mi' } }, securityContext: { runAsUser: 1000 } },
      {},
      { securityContext: { runAsUser: 7, runAsGroup: 8 } },
    )
    assert.equal(decision.kind, 'launch')
    if (decision.kind !== 'launch') return
    assert.deepEqual(decision.launch.limits, { cpuMillis: 250, memoryBytes: 67_108_864 })
    assert.deepEqual(decision.launch.security.user, { uid: 1000, gid: 8 })
  })

  const refusals: readonly [string, object, RegExp][] = [
    ['an image without a command', { image: 'nginx' }, /^ImageNotSupported .*"nginx" is not fetched/],
    [
      'a volume that the pod does not have',
      { command: ['x'], volumeMounts: [{ name: 'v', mountPath: '/v' }] },
      /^CreateContainerConfigError volumeMounts: the pod has no volume "v"/,
    ],
    ['volumeDevices', { command: ['x'], volumeDevices: [{}] }, /^CreateContainerConfigError volumeDevices/],
    [
      'an init container that would run on',
      { command: ['x'], restartPolicy: 'Always' },
      /^CreateContainerConfigError restartPolicy of a single container/,
    ],
    ['envFrom', { command: ['x'], envFrom: [{}] }, /^CreateContainerConfigError envFrom/],
    [
      'variables of Secrets',
      { command: ['x'], env: [{ name: 'A', valueFrom: { secretKeyRef: { name: 's', key: 'k' } } }] },
      /^CreateContainerConfigError env A/,
    ],
    [
      'a limit that is no quantity',
      { command: ['x'], resources: { limits: { memory: 'much' } } },
      /"much" is not a quantity/,
    ],
    [
      'rights over the host',
      { command: ['x'], securityContext: { privileged: true } },
      /^CreateContainerConfigError privileged is not supported/,
    ],
    ['grpc probes', { command: ['x'], livenessProbe: { grpc: { port: 1 } } }, /grpc probes are not supported/],
  ]
  for (const [what, container, expected] of refusals) {
    test(`${what} are refused with the reason`, () => {
      const decision = launch(container)
      assert.equal(decision.kind, 'refused')
      if (decision.kind === 'refused') assert.match(`${decision.refusal.reason} ${decision.refusal.message}`, expected)
    })
  }

  const { rootFilesystem } = dialect.annotations
  test('a root filesystem is a folder directly in the folder of the operator', () => {
    const decision = launch({ command: ['x'] }, { annotations: { [rootFilesystem]: '/srv/roots/web' } })
    assert.ok(decision.kind === 'launch')
    assert.equal(decision.launch.rootFilesystem, '/srv/roots/web')
  })

  for (const root of [
    '/',
    '/etc',
    'web',
    '/srv/roots',
    '/srv/roots/',
    '/srv/roots/..',
    '/srv/roots/a/b',
    '/srv/roots2/a',
  ])
    test(`the root filesystem ${root} is refused`, () => {
      const decision = launch({ command: ['x'] }, { annotations: { [rootFilesystem]: root } })
      assert.ok(decision.kind === 'refused')
      assert.equal(decision.refusal.reason, 'InvalidRootFilesystem')
      assert.match(decision.refusal.message, /expected a folder directly in \/srv\/roots$/)
    })

  for (const [field, value] of Object.entries({
    hostPID: true,
    hostIPC: true,
    shareProcessNamespace: true,
    hostUsers: false,
  }))
    test(`a pod with ${field}: ${value} is refused`, () => {
      const decision = launch({ command: ['x'] }, {}, { [field]: value })
      assert.ok(decision.kind === 'refused')
      assert.match(decision.refusal.message, new RegExp(`^${field}.* is not supported`))
    })

  test('references are expanded once: references in a value stay', () => {
    const values = new Map([
      ['A', '$(B)'],
      ['B', 'b'],
    ])
    assert.equal(expandReferences('$(A) $$(A) $(C) $ $(', values), '$(B) $(A) $(C) $ $(')
  })
})

describe('a Pod of the API', () => {
  test('a deletion began at its timestamp minus the grace period', () => {
    const parsed = parse(
      { containers: [{ name: 'c' }] },
      {
        deletionTimestamp: '2026-01-01T00:00:30Z',
        deletionGracePeriodSeconds: 30,
      },
    )
    assert.ok(parsed.kind === 'pod')
    assert.deepEqual(parsed.pod.deletion, { atMs: Date.parse('2026-01-01T00:00:00Z'), graceSeconds: 30 })
  })

  test('a mirror pod is not run by this node', () => {
    assert.deepEqual(parse({ containers: [{ name: 'c' }] }, { annotations: { [dialect.annotations.mirrorPod]: '' } }), {
      kind: 'mirror',
    })
  })

  for (const [what, spec] of [
    ['a container named as a path', { containers: [{ name: '../x' }] }],
    ['a zero byte in a command', { containers: [{ name: 'c', command: ['a\0b'] }] }],
    ['a variable that is no name', { containers: [{ name: 'c', env: [{ name: 'A B' }] }] }],
    ['no containers', { containers: [] }],
  ] as const) {
    test(`${what} makes a pod unusable, and the fault names the field`, () => {
      const parsed = parse(spec)
      assert.equal(parsed.kind, 'unusable')
      if (parsed.kind === 'unusable') assert.match(parsed.fault, /^spec\.containers/)
    })
  }
})
