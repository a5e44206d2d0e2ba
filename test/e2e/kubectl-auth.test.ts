import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { after, before, describe, test } from 'node:test'
import { promisify } from 'node:util'
import { startTestServer, type TestServer } from '../helpers/api-server.ts'
import { missingKubectl } from '../helpers/kubectl.ts'

const run = promisify(execFile)
const skip = missingKubectl()

describe('kubectl auth, in the kubernetes dialect', { skip }, () => {
  let server: TestServer
  before(async () => {
    server = await startTestServer({ tokens: [{ token: 'viewer', user: { name: 'viewer', groups: ['people'] } }] })
    await kubectl('create', 'rolebinding', 'viewer', '--clusterrole=view', '--user=viewer', '--token=a-token-for-tests')
  })
  after(() => server.stop())

  async function kubectl(...args: readonly string[]): Promise<string> {
    const token = args.some((arg) => arg.startsWith('--token')) ? [] : ['--token=viewer']
    const env = { PATH: process.env['PATH'], HOME: '/nonexistent', KUBECONFIG: '/dev/null' }
    const options = ['--server', server.url, '--insecure-skip-tls-verify', '--cache-dir=/dev/null', ...token]
    try {
      return (await run('kubectl', [...args, ...options], { env, timeout: 30_000 })).stdout
    } catch (thrown) {
      const { stdout, stderr } = thrown as { stdout: string; stderr: string }
      return stdout + stderr
    }
  }

  test('says what the user may do', async () => {
    assert.match(await kubectl('auth', 'can-i', 'get', 'pods'), /^yes\n/)
    assert.match(await kubectl('auth', 'can-i', 'delete', 'pods'), /^no\n/)
    assert.match(await kubectl('auth', 'can-i', 'get', '/version'), /^yes\n/)
    assert.match(await kubectl('auth', 'can-i', 'get', 'pods', '-n', 'kube-system'), /^no\n/)
    const list = await kubectl('auth', 'can-i', '--list')
    assert.match(list, /endpointslices\.discovery\.k8s\.io +\[\] +\[\] +\[get list watch\]/)
  })

  test('says who the user is, and what is forbidden', async () => {
    assert.match(await kubectl('auth', 'whoami'), /Username +viewer\nGroups +\[people system:authenticated\]/)
    const refused = await kubectl('delete', 'pod', 'x')
    assert.match(refused, /pods "x" is forbidden: User "viewer" cannot delete resource "pods" in API group ""/)
  })

  test("acts as another user, with that user's rights and no others", async () => {
    const admin = '--token=a-token-for-tests'
    const whoami = await kubectl('auth', 'whoami', '--as=viewer', '--as-group=people', '--as-uid=42', admin)
    assert.match(whoami, /Username +viewer\nUID +42\nGroups +\[people system:authenticated\]/)
    assert.match(await kubectl('auth', 'can-i', 'get', 'pods', '--as=viewer', admin), /^yes\n/)
    assert.match(await kubectl('auth', 'can-i', 'delete', 'pods', '--as=viewer', admin), /^no\n/)
    const refused = await kubectl('delete', 'pod', 'x', '--as=viewer', admin)
    assert.match(refused, /User "viewer" cannot delete resource "pods"/)
    const account = await kubectl('auth', 'whoami', '--as=system:serviceaccount:default:web', admin)
    assert.match(account, /\[system:serviceaccounts system:serviceaccounts:default system:authenticated\]/)
    const escalation = await kubectl('get', '--raw=/version', '--as=root', '--as-group=system:masters')
    assert.match(escalation, /users "root" is forbidden: User "viewer" cannot impersonate resource "users"/)
  })

  test('creates a token of a service account', async () => {
    await kubectl('create', 'serviceaccount', 'web', '--token=a-token-for-tests')
    const token = await kubectl('create', 'token', 'web', '--duration=20m', '--token=a-token-for-tests')
    assert.match(await kubectl('auth', 'whoami', `--token=${token.trim()}`), /system:serviceaccount:default:web/)
    const refused = await kubectl('create', 'token', 'web', '--duration=1m', '--token=a-token-for-tests')
    assert.match(refused, /may not specify a duration less than 10 minutes/)
  })
})
