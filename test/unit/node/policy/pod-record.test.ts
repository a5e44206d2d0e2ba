import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { createDialect } from '../../../../src/model/dialect.ts'
import { readPodRecord, reducePod } from '../../../../src/node/policy/pod-record.ts'

const dialect = createDialect('kubernetes')
const source = { nodeName: 'node-1', dialect }

function wirePod({ metadata = {}, spec = {}, status = {} } = {}) {
  return {
    metadata: {
      name: 'web',
      namespace: 'shop',
      uid: 'uid-1',
      resourceVersion: '7',
      creationTimestamp: '2026-01-01T00:00:00Z',
      labels: { app: 'web' },
      managedFields: [{ manager: 'kubectl' }],
      annotations: { note: 'long' },
      ...metadata,
    },
    spec: {
      nodeName: 'node-1',
      containers: [{ name: 'main', image: 'x', env: [{ name: 'A' }], ports: [{ name: 'http', containerPort: 8080 }] }],
      initContainers: [{ name: 'side', restartPolicy: 'Always', ports: [{ name: 'admin', containerPort: 9000 }] }],
      ...spec,
    },
    status: { phase: 'Running', podIPs: [{ ip: '10.244.1.5' }, { ip: 'fd00::5' }], conditions: [], ...status },
  }
}

describe('what is kept of a Pod', () => {
  test('is read from the whole object as from the reduced one', () => {
    const whole = readPodRecord(wirePod(), source)
    const reduced = readPodRecord(reducePod(wirePod(), dialect) as ReturnType<typeof wirePod>, source)
    assert.deepEqual(reduced, whole)
    assert.deepEqual(whole.record, {
      key: 'shop/web',
      uid: 'uid-1',
      namespace: 'shop',
      labels: { app: 'web' },
      ips: ['10.244.1.5', 'fd00::5'],
      ports: [
        { name: 'http', protocol: 'TCP', port: 8080 },
        { name: 'admin', protocol: 'TCP', port: 9000 },
      ],
      isLocal: true,
      isOutside: false,
      isTerminating: false,
      createdAtMs: Date.parse('2026-01-01T00:00:00Z'),
    })
  })

  test('drops what no policy asks for', () => {
    const text = JSON.stringify(reducePod(wirePod(), dialect))
    assert.doesNotMatch(text, /image|env|managedFields|conditions|note/)
  })

  test('tells a terminating pod, a finished one and one of the host network', () => {
    const terminating = readPodRecord(wirePod({ metadata: { deletionTimestamp: '2026-01-02T00:00:00Z' } }), source)
    assert.equal(terminating.record?.isTerminating, true)
    assert.equal(readPodRecord(wirePod({ status: { phase: 'Succeeded' } }), source).record?.isOutside, true)
    assert.equal(readPodRecord(wirePod({ spec: { hostNetwork: true } }), source).record?.isOutside, true)
  })

  test('names the life of a static pod as its runtime does', () => {
    const annotations = { [dialect.annotations.mirrorPod]: 'hash-of-the-file' }
    const pod = reducePod(wirePod({ metadata: { annotations } }), dialect) as ReturnType<typeof wirePod>
    assert.equal(readPodRecord(pod, source).record?.uid, 'hash-of-the-file')
  })

  test('is nothing where the labels cannot be read, with the problem', () => {
    const { record, problems } = readPodRecord(wirePod({ metadata: { labels: { app: 7 } } }), source)
    assert.equal(record, undefined)
    assert.equal(problems.length, 1)
  })

  test('leaves what is no Pod as it is', () => {
    for (const value of [null, 'text', [], {}, { metadata: {} }]) assert.equal(reducePod(value, dialect), value)
  })
})
