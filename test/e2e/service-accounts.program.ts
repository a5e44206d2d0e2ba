// Run by service-accounts.test.ts in namespaces of its own: Pods of the kubernetes dialect on a node that has its own identity. Prints what
// was seen as one line of JSON.
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { runProgram } from '../../src/host/index.ts'
import { PodFolders } from '../../src/node/pods/pod-folders.ts'
import { type AnyObject, allowPods, deadlineMs, PodsLab } from '../helpers/pods-lab.ts'
import { untilAsync } from '../helpers/until.ts'

const dataDir = '/run/platnet'
const lab = new PodsLab({ serverFlags: ['--dialect', 'kubernetes'], agentIdentity: 'agent' })
const folder = '/var/run/secrets/kubernetes.io/serviceaccount'
const accounts = { group: '', resource: 'serviceaccounts' }
const agentLog: string[] = []
const tokens: string[] = []

/** A client in the cluster as usual: where the API server is, its CA, and a token that is read anew each time. */
const client = `
const { readFileSync, statSync, readdirSync } = require('fs')
const { request } = require('https')
const { createHash } = require('crypto')
const read = (name) => readFileSync('${folder}/' + name, 'utf8')
const stat = (name) => { const { mode, uid, gid } = statSync('${folder}/' + name); return [(mode & 0o777).toString(8), uid, gid] }
const ask = () => new Promise((resolve, reject) => {
  const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port } = process.env
  const body = JSON.stringify({ apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' })
  const headers = { authorization: 'Bearer ' + read('token'), 'content-type': 'application/json', 'content-length': body.length }
  const path = '/apis/authentication.k8s.io/v1/selfsubjectreviews'
  request({ host, port, ca: read('ca.crt'), method: 'POST', path, headers, timeout: 5000 }, (response) => {
    let text = ''
    response.on('data', (chunk) => { text += chunk }).on('end', () => resolve([response.statusCode, JSON.parse(text)]))
  }).on('error', reject).end(body)
})
let last, isBusy = false
setInterval(async () => {
  const token = read('token')
  if (token === last || isBusy) return
  isBusy = true
  try {
    const [code, { status, message }] = await ask()
    last = token
    let change = ''
    try { require('fs').writeFileSync('${folder}/token', '') } catch (error) { change = error.code }
    console.log(JSON.stringify({ code, user: status?.userInfo?.username, message, digest: createHash('sha256').update(token).digest('hex'), change,
      names: readdirSync('${folder}'), files: ['token', 'ca.crt', 'namespace'].map(stat), namespace: read('namespace') }))
  } catch (error) { console.error(String(error)) }
  isBusy = false
}, 100)
`
const command = [process.execPath, '-e', client]

async function said(name: string, count = 1): Promise<AnyObject> {
  await lab.waitReady(name)
  let lines: string[] = []
  await untilAsync(
    `${name} said ${count} things`,
    async () => {
      lines = (await lab.logs(name)).split('\n').filter((line) => line.startsWith('{'))
      return lines.length >= count
    },
    deadlineMs,
  )
  return JSON.parse(lines[count - 1] ?? '')
}

/** The token that the pod's containers see now. */
function tokenOf(pod: AnyObject): string {
  const [volume] = pod.spec.volumes
  const token = readFileSync(
    `${new PodFolders(`${dataDir}/pods`).volumesFolder(pod.metadata.uid)}/${volume.name}/token`,
    'utf8',
  )
  tokens.push(token)
  return token
}

/** What the API server says of a token. */
async function review(token: string): Promise<AnyObject> {
  const tokenReviews = { group: 'authentication.k8s.io', version: 'v1', resource: 'tokenreviews' }
  return ((await lab.client.review(tokenReviews, 'TokenReview', { token })) as AnyObject).status
}

function claimsOf(token: string): AnyObject {
  const {
    aud,
    exp,
    iat,
    sub,
    'kubernetes.io': bound,
  } = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString())
  return { aud, seconds: exp - iat, sub, bound }
}

async function observePlain() {
  const pod = await lab.createPod('plain', { command })
  const seen = await said('plain')
  const token = tokenOf(pod)
  return {
    ...{ spec: pod.spec, uid: pod.metadata.uid, seen, claims: claimsOf(token), review: await review(token) },
    isShown: seen.digest === createHash('sha256').update(token).digest('hex'),
  }
}

async function observeUser() {
  await lab.create(accounts, { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'builder' } })
  const securityContext = { runAsUser: 1000, runAsGroup: 1000, fsGroup: 2000 }
  await lab.createPod('user', { command }, { serviceAccountName: 'builder', securityContext })
  return said('user')
}

/** A namespace that was made a moment ago has no account yet. */
async function observeFresh() {
  await lab.create(
    { group: '', resource: 'namespaces' },
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'fresh' } },
  )
  await allowPods(lab.client, 'fresh')
  const pod = await lab.createPod('early', { command: ['sleep', '600'] }, {}, { namespace: 'fresh' })
  await untilAsync('it runs', async () => (await lab.pod('early', 'fresh'))?.status.phase === 'Running', deadlineMs)
  await lab.client.delete({
    resource: { group: '', version: 'v1', resource: 'pods' },
    namespace: 'fresh',
    name: 'early',
  })
  return pod.spec.serviceAccountName
}

async function observeRefusals() {
  const refused = async (spec: AnyObject, container: AnyObject = {}) =>
    lab.createPod('refused', { command: ['x'], ...container }, spec).then(
      () => 'taken',
      (error: unknown) => String(error),
    )
  const missing = await refused({ serviceAccountName: 'missing' })
  const volumes = [{ name: 'data', emptyDir: {} }]
  await lab.createPod('empty', { command: ['x'], volumeMounts: [{ name: 'data', mountPath: '/data' }] }, { volumes })
  const waiting = (pod: AnyObject) => pod.status.containerStatuses?.[0]?.state?.waiting
  const empty = await lab.waitFor('empty', 'refused', (pod) => waiting(pod)?.reason === 'CreateContainerConfigError')
  return { missing, empty: waiting(empty) }
}

async function observeLateConfig() {
  const volumes = [{ name: 'web', configMap: { name: 'web' } }]
  const container = {
    command: ['sh', '-c', 'cat /web/greeting; exec sleep 600'],
    volumeMounts: [{ name: 'web', mountPath: '/web' }],
  }
  await lab.createPod('late', container, { volumes, automountServiceAccountToken: false })
  await untilAsync('an Event', async () => (await lab.events('late')).includes('Warning FailedMount'), deadlineMs)
  const stateOf = (pod: AnyObject) => pod.status.containerStatuses?.[0]?.state?.waiting
  const waiting = await lab.waitFor('late', 'waiting with a reason', (pod) => stateOf(pod)?.message !== undefined)
  const config = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'web' }, data: { greeting: 'hello\n' } }
  await lab.create({ group: '', resource: 'configmaps' }, config)
  await lab.waitReady('late')
  await untilAsync('its log is written', async () => (await lab.logs('late')).includes('hello'), deadlineMs)
  return { state: stateOf(waiting), log: await lab.logs('late') }
}

/** An agent that was killed knows no token: the one after it gets another one, for containers that go on. */
async function observeRestart() {
  const before = await lab.pod('plain')
  await lab.killAgent()
  await startAgent()
  const seen = await said('plain', 2)
  const after = await lab.waitReady('plain')
  const restarts = after.status.containerStatuses[0].restartCount
  return { code: seen.code, restarts, isNew: tokenOf(before) !== tokens[0] }
}

async function observeEnd() {
  const token = tokens.at(-1) ?? ''
  const names = (await lab.pods()).map(({ metadata }) => metadata.name)
  for (const name of names) await lab.deletePod(name)
  await lab.waitClean()
  return {
    review: await review(token),
    logged: tokens.filter((each) => agentLog.some((line) => line.includes(each))).length,
  }
}

const startAgent = () => lab.startAgent(['--log-level', 'trace'], (line) => agentLog.push(line))

await lab.build()
const issue = ['server', 'kubeconfig', '--data-dir', dataDir, '--node', 'node-1', '--url', 'https://127.0.0.1:6443']
await runProgram('scripts/platnet', [...issue, '--out', `${dataDir}/agent.kubeconfig`], { timeoutMs: deadlineMs })
await startAgent()
const seen = {
  plain: await observePlain(),
  user: await observeUser(),
  fresh: await observeFresh(),
  refusals: await observeRefusals(),
  late: await observeLateConfig(),
  restart: await observeRestart(),
  end: await observeEnd(),
  lines: agentLog.length,
}
await lab.stop()
process.stdout.write(`${JSON.stringify(seen)}\n`)
process.exit(0)
