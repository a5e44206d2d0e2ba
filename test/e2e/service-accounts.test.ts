import assert from 'node:assert/strict'
import { resolve } from 'node:path'
import { before, describe, test } from 'node:test'
import { runIsolated } from '../../src/demo/isolate.ts'
import { skipReason } from '../helpers/netns.ts'

describe('Pods of the kubernetes dialect on a node of our own', {
  skip: skipReason('iptables', 'unshare', 'nsenter', '/usr/lib/cni/bridge'),
}, () => {
  // biome-ignore lint/suspicious/noExplicitAny: what the program saw, each part judged below
  let seen: any

  before(async () => {
    const program = resolve(import.meta.dirname, 'service-accounts.program.ts')
    const { exitCode, stdout } = await runIsolated(program, [], {
      signal: AbortSignal.timeout(240_000),
      stdout: 'pipe',
    })
    assert.equal(exitCode, 0, 'the program failed; its output is above')
    seen = JSON.parse(stdout.trimEnd().split('\n').at(-1) ?? '')
  })

  test('a Pod that asks for nothing reaches the API server as its account, with the token, the CA and the namespace that it has', () => {
    const { spec, seen: own, isShown } = seen.plain
    assert.deepEqual([spec.serviceAccountName, spec.volumes.length], ['default', 1])
    assert.deepEqual([own.code, own.user], [201, 'system:serviceaccount:default:default'])
    assert.deepEqual([own.namespace, isShown], ['default', true])
    assert.deepEqual(
      own.names.filter((name: string) => !name.startsWith('..')),
      ['ca.crt', 'namespace', 'token'],
    )
    assert.deepEqual(own.files, [
      ['644', 0, 0],
      ['644', 0, 0],
      ['644', 0, 0],
    ])
    assert.equal(own.change, 'EROFS')
  })

  test('its token is bound to it, for the API server and for an hour, as TokenReview says', () => {
    const { claims, review, uid } = seen.plain
    assert.deepEqual([claims.sub, claims.seconds], ['system:serviceaccount:default:default', 3607])
    assert.deepEqual(claims.bound.pod, { name: 'plain', uid })
    assert.deepEqual([review.authenticated, review.user.username], [true, claims.sub])
  })

  test('a Pod with one user and a group has a token that they alone read', () => {
    const { code, user, files } = seen.user
    assert.deepEqual([code, user], [201, 'system:serviceaccount:default:builder'])
    assert.deepEqual(files, [
      ['640', 1000, 2000],
      ['644', 0, 2000],
      ['644', 0, 2000],
    ])
  })

  test('a Pod in a namespace that was made a moment ago waits for its account', () => {
    assert.equal(seen.fresh, 'default')
  })

  test('an account that is missing and a volume that this node does not make are refused with the reason', () => {
    const { missing, empty } = seen.refusals
    assert.match(missing, /error looking up service account default\/missing: serviceaccount "missing" not found/)
    assert.match(empty.message, /^volume data: emptyDir is not supported/)
  })

  test('a Pod whose ConfigMap is missing says so, and runs with what is in it once it is there', () => {
    const { state, log } = seen.late
    assert.equal(state.reason, 'ContainerCreating')
    assert.match(state.message ?? '', /configmap "web" not found/)
    assert.equal(log, 'hello\n')
  })

  test('an agent that is started again gives running containers another token', () => {
    assert.deepEqual(seen.restart, { code: 201, restarts: 0, isNew: true })
  })

  test('with the Pods their volumes go, their tokens count no more, and no log has any', () => {
    assert.notEqual(seen.end.review.authenticated, true)
    assert.ok(seen.lines > 100, `${seen.lines}`)
    assert.equal(seen.end.logged, 0)
  })
})
