import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { buildArchive, writeManifest } from '../../helpers/agent-manifest.ts'
import { AwayServer, ownPort } from '../../helpers/away-server.ts'
import { skipReason } from '../../helpers/netns.ts'
import { missingCluster, RealCluster } from '../../helpers/real-cluster.ts'
import { untilAsync } from '../../helpers/until.ts'

const skip = skipReason('podman', 'crun', 'debootstrap', 'kubectl') || missingCluster()
/** The shortest that an API server grants. A kubelet asks again after 80 % of it. */
const lifeSeconds = 600
const place = '/var/run/secrets/kubernetes.io/serviceaccount'

/** The volume that an API server gives each pod, with a token of a shorter life. */
const account = {
  name: 'account',
  projected: {
    sources: [
      { serviceAccountToken: { path: 'token', expirationSeconds: lifeSeconds } },
      { configMap: { name: 'kube-root-ca.crt', items: [{ key: 'ca.crt', path: 'ca.crt' }] } },
    ],
  },
}
const mount = { name: 'account', mountPath: place, readOnly: true }
const podSpec = {
  automountServiceAccountToken: false,
  volumes: [account],
  containers: [{ name: 'agent', volumeMounts: [mount] }],
}

function expiryOf(token: string): number {
  const [, claims = ''] = token.split('.')
  return JSON.parse(Buffer.from(claims, 'base64url').toString()).exp * 1000
}

describe('an agent of the DaemonSet whose token lives ten minutes', { skip }, () => {
  let folder = ''
  let cluster: RealCluster
  const seen = { first: '', second: '', leftMs: 0, oldStatus: '', newStatus: '', refused: 0, requests: 0 }

  const readToken = async () => {
    const uid = await cluster.kubectl(
      ...['-n', 'kube-system', 'get', 'pod', '-l', 'app.kubernetes.io/name=platnet'],
      ...['-o', 'jsonpath={.items[0].metadata.uid}'],
    )
    return cluster.run('cat', `/var/lib/kubelet/pods/${uid}/volumes/kubernetes.io~projected/account/token`)
  }
  const statusWith = (token: string) =>
    cluster.run(
      ...['curl', '-sk', '-o', '/dev/null', '-w', '%{http_code}', '-H', `Authorization: Bearer ${token}`],
      'https://192.168.77.2:6443/api/v1/services',
    )
  const countRequests = async (pattern: RegExp) => {
    const lines = (await cluster.run('curl', '-s', 'http://127.0.0.1:10249/metrics')).split('\n')
    const counts = lines.filter((line) => pattern.test(line)).map((line) => Number(line.split(' ').at(-1)))
    return counts.reduce((sum, count) => sum + count, 0)
  }

  /** Every watch begins anew, with the token that the agent has by now. */
  async function restartServer(): Promise<void> {
    const server = new AwayServer(cluster, 'platnet')
    await server.learn()
    await server.kill()
    await server.start(ownPort, 60_000)
  }

  before(async () => {
    folder = mkdtempSync('/var/tmp/plt-token-')
    const archive = await buildArchive(folder)
    cluster = await RealCluster.start({ CONTROL: 'platnet', PLANE: 'none' })
    await cluster.run('ctr', '-n', 'k8s.io', 'images', 'import', archive)
    await writeManifest(cluster, folder)
    await cluster.kubectl('apply', '-f', join(folder, 'platnet.yaml'))
    const patch = JSON.stringify({ spec: { template: { spec: podSpec } } })
    await cluster.kubectl('-n', 'kube-system', 'patch', 'daemonset', 'platnet', '-p', patch)
    await cluster.kubectl('-n', 'kube-system', 'rollout', 'status', 'daemonset', 'platnet', '--timeout=5m')
    seen.first = await readToken()
    const expiryMs = expiryOf(seen.first)
    const isNew = async () => {
      await sleep(2_000)
      seen.second = await readToken()
      return seen.second !== seen.first
    }
    await untilAsync('the kubelet has written another token', isNew, lifeSeconds * 1_000 + 60_000)
    seen.leftMs = expiryMs - Date.now()
    // A server may be some seconds behind.
    await sleep(Math.max(expiryMs - Date.now(), 0) + 15_000)
    seen.oldStatus = await statusWith(seen.first)
    seen.newStatus = await statusWith(seen.second)
    await restartServer()
    await cluster.kubectl('create', 'service', 'clusterip', 'later', '--tcp=80:80', '--clusterip=10.96.0.81')
    const hasRule = async () => (await cluster.run('iptables-save')).includes('10.96.0.81')
    await untilAsync('the agent has the change', hasRule, 60_000)
    seen.refused = await countRequests(/^rest_client_requests_total\{.*code="401"/)
    seen.requests = await countRequests(/^rest_client_requests_total\{.*code="200"/)
  })
  after(async () => {
    await cluster?.[Symbol.asyncDispose]()
    rmSync(folder, { recursive: true, force: true })
  })

  test('The kubelet gets another token from our server before the first one expires.', () => {
    assert.ok(seen.leftMs > 0, `${seen.leftMs} ms before the end`)
    assert.ok(seen.leftMs < lifeSeconds * 250, `${seen.leftMs} ms before the end`)
    assert.ok(expiryOf(seen.second) > expiryOf(seen.first))
  })

  test('The server refuses the first token after its life, and takes the second.', () => {
    assert.deepEqual([seen.oldStatus, seen.newStatus], ['401', '200'])
  })

  test('The agent goes on with the new token; none of its requests is refused.', () => {
    assert.ok(seen.requests > 10, `${seen.requests} requests`)
    assert.equal(seen.refused, 0)
  })
})
