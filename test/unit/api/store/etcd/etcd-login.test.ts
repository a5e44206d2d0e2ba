import assert from 'node:assert/strict'
import { test } from 'node:test'
import { EtcdCallError } from '../../../../../src/api/store/etcd/etcd-error.ts'
import { EtcdLogin } from '../../../../../src/api/store/etcd/etcd-login.ts'

test('a refused renewal is forgotten when a call with the present token is answered', async () => {
  const login = new EtcdLogin({ name: 'platnet', readPassword: async () => 'right' })
  await login.ready(async () => 'first')
  const refuse = async (): Promise<string> => {
    throw new EtcdCallError('http://127.0.0.1:1', 3, 'etcdserver: authentication failed, invalid user ID or password')
  }
  await assert.rejects(login.renewed('first', refuse), /authentication failed/)
  assert.match(login.refusal?.message ?? '', /authentication failed/)
  login.confirm()
  assert.equal(login.refusal, undefined)
  assert.equal(login.token, 'first')
})
