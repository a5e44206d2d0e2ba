import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it, type TestContext } from 'node:test'
import { openEtcdStore } from '../../../../src/api/store/etcd/open-etcd-store.ts'
import { EtcdCluster, etcdLack } from '../../../helpers/etcd.ts'
import { findFreePort } from '../../../helpers/free-port.ts'
import { httpGet } from '../../../helpers/http-get.ts'
import { PlatnetServer } from '../../../helpers/platnet-server.ts'
import { createRecordingLogger } from '../../../helpers/recording-logger.ts'
import { put, record } from '../../../helpers/store-contract.ts'
import { makeTemporaryFolder } from '../../../helpers/temporary-folder.ts'
import { until, untilAsync } from '../../../helpers/until.ts'

const [rootPassword, password] = ['of-the-root-user', 'of-the-platnet-user']

describe('the store in etcd with users', { skip: etcdLack ?? false }, () => {
  let etcd: EtcdCluster
  const root = (words: readonly string[]) => {
    const { status, stdout } = etcd.etcdctl(['--user', `root:${rootPassword}`, ...words])
    assert.equal(status, 0, `${words.join(' ')}: ${stdout}`)
  }
  const changePassword = (to: string) => {
    const { status, stdout } = etcd.etcdctl(
      ['--user', `root:${rootPassword}`, 'user', 'passwd', '--interactive=false', 'platnet'],
      0,
      `${to}\n`,
    )
    assert.equal(status, 0, stdout)
  }
  before(async () => {
    // Tokens expire within the tests.
    etcd = await EtcdCluster.start({ flags: ['--bcrypt-cost', '4', '--auth-token-ttl', '3'] })
    for (const words of [
      ['user', 'add', `root:${rootPassword}`],
      ['user', 'grant-role', 'root', 'root'],
      ['user', 'add', `platnet:${password}`],
      ['role', 'add', 'platnet'],
      ['role', 'grant-permission', 'platnet', '--prefix=true', 'readwrite', '/platnet/'],
      ['user', 'grant-role', 'platnet', 'platnet'],
      ['auth', 'enable'],
    ]) {
      const { status, stdout } = etcd.etcdctl(words)
      assert.equal(status, 0, `${words.join(' ')}: ${stdout}`)
    }
  })
  after(() => etcd[Symbol.asyncDispose]())

  const open = async (readPassword: () => Promise<string>, { name = 'platnet', prefix = '/platnet' } = {}) => {
    const { log, lines } = createRecordingLogger()
    const connection = { servers: etcd.servers, callTimeoutMs: 2_000, user: { name, readPassword } }
    const store = await openEtcdStore({ connection, prefix, dialect: 'platform', authority: 'one', log })
    return { store, lines }
  }
  const openFor = async (t: TestContext, readPassword = async () => password) => {
    const opened = await open(readPassword)
    t.after(() => opened.store.close())
    return opened
  }

  it('works with a role for its own keys, compaction included', async (t) => {
    const { store } = await openFor(t)
    const { seen } = record(store, '/', store.revision)
    assert.equal((await store.commit([put('/a', '1')])).kind, 'committed')
    await store.catchUp()
    assert.equal((await store.get('/a'))?.value, '1')
    await store.compact(store.revision)
    assert.equal(seen.length, 1)
  })

  it('goes on when its token has expired', async (t) => {
    const { store } = await openFor(t)
    const { seen } = record(store, '/', store.revision)
    await new Promise((resolve) => setTimeout(resolve, 4_500))
    assert.equal((await store.commit([put('/expired', '1')])).kind, 'committed')
    assert.equal(seen.length, 1)
  })

  it('goes on when users and roles change, and when the member starts again without any token', async (t) => {
    const { store, lines } = await openFor(t)
    const { seen } = record(store, '/', store.revision)
    for (let round = 0; round < 5; round++) {
      root(['role', 'add', `other-${round}`])
      assert.equal((await store.commit([put(`/changed/${round}`, '1')])).kind, 'committed')
    }
    await etcd.kill(0)
    etcd.startMember(0)
    await untilAsync('a write is taken', () =>
      store.commit([put('/restarted', '1')]).then(
        ({ kind }) => kind === 'committed',
        () => false,
      ),
    )
    await until('the watch goes on', () => seen.length === 6)
    assert.equal(store.failure, undefined)
    assert.ok(!lines.join('\n').includes(password), 'the password is in the log')
  })

  it('takes a changed password from its file, and says plainly while it has the old one', async (t) => {
    let current = password
    const { store } = await openFor(t, async () => current)
    changePassword('another')
    await assert.rejects(store.commit([put('/passwd', '1')]), {
      code: 'store-unreachable',
      message: /^etcd refused this server: .*authentication failed/,
      remedy: /--etcd-password-file/,
    })
    assert.match(store.failure?.message ?? '', /authentication failed/)
    current = 'another'
    await untilAsync('a write is taken', () =>
      store.commit([put('/passwd', '1')]).then(
        ({ kind }) => kind === 'committed',
        () => false,
      ),
    )
    assert.equal(store.failure, undefined)
    changePassword(password)
  })

  it('is the store of a server with a password file, whose line end is no part of the password', async (t) => {
    const folder = makeTemporaryFolder(t)
    const file = join(folder, 'password')
    writeFileSync(file, `${password}\n`)
    const flags = ['--components=api', '--console=false', '--dialect=kubernetes', '--store=etcd']
    const access = [`--etcd-servers=${etcd.servers}`, '--etcd-username=platnet', `--etcd-password-file=${file}`]
    const prefix = '--etcd-prefix=/platnet/server'
    const server = new PlatnetServer(join(folder, 'data'), await findFreePort(), {}, [...flags, ...access, prefix])
    t.after(() => server.stop('SIGTERM'))
    const { status } = await httpGet({ ...(await server.start()), path: '/api/v1/namespaces/default' })
    assert.equal(status, 200)
  })

  it('is refused with a wrong password, without one and without a role, each by a plain reason', async () => {
    await assert.rejects(
      open(async () => 'wrong'),
      { code: 'store-unreachable', message: /authentication failed/, remedy: /--etcd-username and the password/ },
    )
    const anonymous = { servers: etcd.servers }
    const { log } = createRecordingLogger()
    await assert.rejects(
      openEtcdStore({ connection: anonymous, prefix: '/platnet', dialect: 'platform', authority: 'one', log }),
      { code: 'store-unreachable', message: /user name is empty/, remedy: /set --etcd-username/ },
    )
    await assert.rejects(
      open(async () => password, { prefix: '/elsewhere' }),
      { code: 'store-unreachable', message: /permission denied/, remedy: /grant-permission/ },
    )
  })
})
