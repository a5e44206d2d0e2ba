import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { lackOfPeer, type Peer, startPeer } from '../../helpers/kubernetes-peer.ts'
import { podOf } from '../../helpers/pod-case.ts'
import { podCases } from '../../helpers/pod-cases.ts'
import { workloadCases, workloadOf } from '../../helpers/workload-cases.ts'

/** The cases in which the API core differs on purpose, with the reason. */
const differing: ReadonlyMap<string, string> = new Map([
  ['a restart policy', 'Kubernetes 1.34 drops the field while its feature is off; the API core refuses it'],
  ['an init container that restarts sometimes', 'the same'],
  ['a stop signal without an operating system', 'the same'],
  ['a service account in capitals', 'Kubernetes looks for the account first and answers 403'],
  [
    'pod affinity without a topology',
    'Kubernetes names one broken rule of a label key a cause, the API core one a key',
  ],
  ['no selector', 'Kubernetes does not say that a DaemonSet needs a selector'],
])

const skip = lackOfPeer() ?? false

describe('the table of invalid Pods and workloads beside kube-apiserver', { skip }, () => {
  let peer: Peer
  before(async () => {
    peer = await startPeer()
    await peer.call('POST', '/api/v1/namespaces/default/serviceaccounts', { metadata: { name: 'default' } })
  })
  after(() => peer[Symbol.asyncDispose]())

  const assertErrors = async (path: string, body: object, errors: readonly string[]) => {
    const answer = await peer.call('POST', `${path}?dryRun=All`, body)
    const causes: readonly { field: string }[] = answer.body.details?.causes ?? []
    assert.deepEqual(
      causes.map(({ field }) => field),
      errors,
      answer.body.message,
    )
    assert.equal(answer.code, errors.length === 0 ? 201 : 422)
  }
  const skipOf = (title: string) => differing.get(title) ?? false

  for (const each of podCases)
    test(`a Pod: ${each.title}`, { skip: skipOf(each.title) }, () =>
      assertErrors('/api/v1/namespaces/default/pods', podOf(each), each.errors),
    )

  for (const each of workloadCases)
    test(`${each.plural}: ${each.title}`, { skip: each.plural === 'daemonsets' && skipOf(each.title) }, () =>
      assertErrors(`/apis/apps/v1/namespaces/default/${each.plural}`, workloadOf(each), each.errors),
    )
})
