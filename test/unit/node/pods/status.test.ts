import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { createDialect } from '../../../../src/model/dialect.ts'
import { parsePod } from '../../../../src/node/pods/pod-spec.ts'
import { wantedOf } from '../../../../src/node/pods/read-pod.ts'
import { describeStatus } from '../../../../src/node/pods/status.ts'

function statusOf(spec: object) {
  const metadata = { name: 'p', namespace: 'default', uid: 'b3b0c1de-0000-4000-8000-000000000000' }
  const parsed = parsePod(
    { metadata, spec: { containers: [{ name: 'c', image: 'i' }], ...spec } },
    createDialect('kubernetes'),
  )
  assert.equal(parsed.kind, 'pod', JSON.stringify(parsed))
  assert.ok(parsed.kind === 'pod')
  const { pod } = parsed
  return describeStatus({ pod, wanted: wantedOf(pod), record: undefined, containers: {}, hostIps: [], nowMs: 0 })
}

describe('the status of a pod that runs as processes', () => {
  test('says of a container that joined it why nothing of it runs', () => {
    const [joined] = statusOf({ ephemeralContainers: [{ name: 'debug', image: 'd' }] })[
      'ephemeralContainerStatuses'
    ] as readonly { readonly name: string; readonly state: { readonly waiting: Record<string, string> } }[]
    assert.equal(joined?.name, 'debug')
    assert.equal(joined?.state.waiting['reason'], 'CreateContainerConfigError')
    assert.match(joined?.state.waiting['message'] ?? '', /ephemeral containers are not supported/)
  })

  test('has no such list where none joined it', () => {
    assert.equal('ephemeralContainerStatuses' in statusOf({}), false)
  })
})
