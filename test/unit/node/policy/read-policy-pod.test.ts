import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { readNamespace } from '../../../../src/node/policy/read-namespace.ts'
import { readPolicyPod } from '../../../../src/node/policy/read-policy-pod.ts'
import { namedPort } from '../../../helpers/policy-cluster.ts'

interface PodParts {
  readonly metadata?: object
  readonly spec?: object
  readonly status?: object
}

function read({ metadata, spec, status }: PodParts) {
  return readPolicyPod(
    { metadata: { namespace: 'x', name: 'a', ...metadata }, spec: { nodeName: 'n1', ...spec }, status },
    'n1',
  )
}

describe('a pod as NetworkPolicy sees it', () => {
  it('has labels, addresses and named ports', () => {
    const { value, problems } = read({
      metadata: { labels: { app: 'web' } },
      spec: { containers: [{ ports: [{ name: 'http', containerPort: 8080 }] }] },
      status: { phase: 'Running', podIP: '10.244.0.1', podIPs: [{ ip: '10.244.0.1' }, { ip: 'FD00::1' }] },
    })
    assert.deepEqual(value, {
      key: 'x/a',
      namespace: 'x',
      labels: { app: 'web' },
      ips: ['10.244.0.1', 'fd00::1'],
      isLocal: true,
      ports: [namedPort('http', 8080)],
    })
    assert.deepEqual(problems, [])
  })

  it('is there without a status, with no address', () => {
    assert.deepEqual(read({}).value?.ips, [])
    assert.deepEqual(read({ status: { podIP: '' } }).value?.ips, [])
  })

  it('is local on its own node only', () => {
    assert.equal(read({ spec: { nodeName: 'n2' } }).value?.isLocal, false)
    assert.equal(read({ spec: { nodeName: undefined } }).value?.isLocal, false)
  })

  it('is none when it has finished, and none on the host network', () => {
    for (const parts of [
      { status: { phase: 'Succeeded', podIP: '10.244.0.1' } },
      { status: { phase: 'Failed', podIP: '10.244.0.1' } },
      { spec: { hostNetwork: true } },
    ])
      assert.deepEqual(read(parts), { value: undefined, problems: [] })
  })

  it('stays while it terminates', () => {
    const { value } = read({
      metadata: { deletionTimestamp: '2026-01-01T00:00:00Z' },
      status: { phase: 'Running', podIP: '10.244.0.1' },
    })
    assert.deepEqual(value?.ips, ['10.244.0.1'])
  })

  it('has the address of status.podIP where there is no list, and one of each family', () => {
    assert.deepEqual(read({ status: { podIP: '10.244.0.7' } }).value?.ips, ['10.244.0.7'])
    const many = ['10.244.0.1', '10.244.0.2', 'fd00::1', 'fd00::2'].map((ip) => ({ ip }))
    assert.deepEqual(read({ status: { podIPs: many } }).value?.ips, ['10.244.0.1', 'fd00::1'])
  })

  it('reads IPv4-mapped addresses as IPv4', () => {
    assert.deepEqual(read({ status: { podIPs: [{ ip: '::ffff:10.244.0.1' }] } }).value?.ips, ['10.244.0.1'])
  })

  it('has no address that no pod can have', () => {
    for (const ip of ['127.0.0.1', '169.254.169.254', '::', 'x', 7]) {
      const { value, problems } = read({ status: { podIPs: [{ ip }] } })
      assert.deepEqual(value?.ips, [])
      assert.equal(problems.length, 1)
    }
  })

  it('has the ports of all containers and of init containers that go on running', () => {
    const ports = (name: string, containerPort: number, protocol?: string) => ({
      ports: [{ name, containerPort, ...(protocol && { protocol }) }],
    })
    const { value } = read({
      spec: {
        containers: [ports('http', 80), ports('http', 81), ports('dns', 53, 'UDP'), ports('http', 80), {}],
        initContainers: [{ ...ports('proxy', 1), restartPolicy: 'Always' }, ports('setup', 2)],
      },
    })
    assert.deepEqual(value?.ports, [
      namedPort('http', 80),
      namedPort('http', 81),
      namedPort('dns', 53, 'UDP'),
      namedPort('proxy', 1),
    ])
  })

  it('leaves out ports without a name and those that cannot be read', () => {
    const ports = [
      { containerPort: 80 },
      { name: 'x', containerPort: 0 },
      { name: 'y', containerPort: 1, protocol: 'ICMP' },
    ]
    const { value, problems } = read({ spec: { containers: [{ ports }] } })
    assert.deepEqual(value?.ports, [])
    assert.equal(problems.length, 2)
  })

  it('is unknown where its labels cannot be read', () => {
    const { value, problems } = read({ metadata: { labels: { app: 1 } } })
    assert.equal(value, undefined)
    assert.match(problems[0]?.field ?? '', /metadata\.labels/)
  })
})

describe('a namespace', () => {
  it('has its labels, also of metadata alone', () => {
    assert.deepEqual(readNamespace({ metadata: { name: 'x', labels: { a: 'b' } } }), {
      value: { name: 'x', labels: { a: 'b' } },
      problems: [],
    })
    assert.deepEqual(readNamespace({ metadata: { name: 'x', labels: null } }).value, { name: 'x', labels: {} })
  })

  it('is unknown where its name or labels cannot be read, and says which', () => {
    const { value, problems } = readNamespace({ metadata: { name: 'x', labels: { a: 1 } } })
    assert.equal(value, undefined)
    assert.equal(problems[0]?.object, 'Namespace x')
    for (const json of [undefined, {}, { metadata: { name: '../x' } }])
      assert.equal(readNamespace(json).value, undefined)
  })
})
