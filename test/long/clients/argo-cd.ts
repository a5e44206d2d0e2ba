import { cpSync, mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { runProgram } from '../../../src/host/index.ts'
import { findFreePort } from '../../helpers/free-port.ts'
import { accountKubeconfig, ClientProgram, type ClientsCluster, kubectl, programFile, sourceFile } from './programs.ts'

// biome-ignore lint/suspicious/noExplicitAny: tests look into any object
export type AnyObject = any

const space = 'argocd'

/** Argo CD's application controller and repository server beside a Redis, with the roles of its manifests, and a repository on this disk. */
export class ArgoCd {
  readonly cluster: ClientsCluster
  readonly repository: string
  readonly #home: string
  #programs: readonly ClientProgram[] = []
  /** The newest commit. */
  #revision = ''

  constructor(cluster: ClientsCluster) {
    this.cluster = cluster
    this.#home = join(cluster.folder, 'argocd')
    this.repository = join(this.#home, 'repository')
  }

  /** Starts the programs; the folders become those of the repository. */
  async start(stack: AsyncDisposableStack, folders: Readonly<Record<string, string>>): Promise<void> {
    for (const folder of ['tmp', 'tls', 'ssh', 'repository']) mkdirSync(join(this.#home, folder), { recursive: true })
    for (const [name, source] of Object.entries(folders))
      cpSync(source, join(this.repository, name), { recursive: true })
    await this.git('init', '--quiet', '--initial-branch=main')
    await this.#commitAll()
    await this.#install()
    const [redis, repositories] = [await findFreePort(), await findFreePort()]
    const redisArgs = ['--port', `${redis}`, '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no']
    const start = (name: string, args: readonly string[], env: NodeJS.ProcessEnv = {}) =>
      stack.use(new ClientProgram(name, args, this.cluster, { ...this.#environment(), ...env }))
    start('redis-server', redisArgs)
    const repositoryArgs = ['--address=127.0.0.1', `--port=${repositories}`, '--metrics-address=127.0.0.1']
    const common = [`--redis=127.0.0.1:${redis}`, '--logformat=json']
    const server = start(
      'argocd',
      [...repositoryArgs, `--metrics-port=${await findFreePort()}`, '--disable-tls', ...common],
      { ARGOCD_BINARY_NAME: 'argocd-repo-server' },
    )
    const config = await accountKubeconfig(this.cluster, space, 'argocd-application-controller')
    const controllerArgs = [`--namespace=${space}`, `--kubeconfig=${config}`, `--metrics-port=${await findFreePort()}`]
    const controller = start(
      'argocd',
      [
        ...controllerArgs,
        `--repo-server=127.0.0.1:${repositories}`,
        '--repo-server-plaintext',
        '--persist-resource-health',
        ...common,
      ],
      {
        ...{ ARGOCD_BINARY_NAME: 'argocd-application-controller', KUBECONFIG: config },
        // The cluster of the Applications is that of the kubeconfig.
        ARGOCD_FAKE_IN_CLUSTER: 'true',
      },
    )
    this.#programs = [server, controller]
  }

  #environment(): NodeJS.ProcessEnv {
    return {
      // It runs kustomize by its name.
      PATH: `${dirname(programFile('kustomize') ?? '')}:${process.env['PATH']}`,
      TMPDIR: join(this.#home, 'tmp'),
      ARGOCD_GPG_ENABLED: 'false',
      ARGOCD_TLS_DATA_PATH: join(this.#home, 'tls'),
      ARGOCD_SSH_DATA_PATH: join(this.#home, 'ssh'),
    }
  }

  async #install(): Promise<void> {
    const run = (...args: readonly string[]) => kubectl(this.cluster, ['--namespace', space, ...args])
    await run('create', 'namespace', space)
    await run('apply', '--server-side', '-f', sourceFile('argocd', 'manifests/core-install.yaml'))
    await run('wait', '--for=condition=Established', 'crd', '--all')
    await run('scale', 'deployment,statefulset', '--all', '--replicas=0')
    // The web server makes the key where it runs.
    const key = { stringData: { 'server.secretkey': 'a key of this test alone' } }
    await run('patch', 'secret', 'argocd-secret', '--patch', JSON.stringify(key))
    const anything = { group: '*', kind: '*' }
    await this.apply({
      ...{ apiVersion: 'argoproj.io/v1alpha1', kind: 'AppProject', metadata: { name: 'default' } },
      spec: {
        ...{ sourceRepos: ['*'], destinations: [{ namespace: '*', server: '*' }] },
        ...{ clusterResourceWhitelist: [anything], namespaceResourceWhitelist: [anything] },
      },
    })
  }

  async apply(object: object): Promise<void> {
    await kubectl(this.cluster, ['apply', '--namespace', space, '-f', '-'], JSON.stringify(object))
  }

  /** Makes an Application of a folder of the repository. */
  application(name: string, path: string, namespace: string, syncOptions: readonly string[] = []): Promise<void> {
    return this.apply({
      ...{ apiVersion: 'argoproj.io/v1alpha1', kind: 'Application' },
      metadata: { name, finalizers: ['resources-finalizer.argocd.argoproj.io'] },
      spec: {
        project: 'default',
        source: { repoURL: `file://${this.repository}`, path, targetRevision: 'main' },
        destination: { server: 'https://kubernetes.default.svc', namespace },
        syncPolicy: {
          automated: { prune: true, selfHeal: true },
          syncOptions: ['CreateNamespace=true', ...syncOptions],
        },
      },
    })
  }

  async statusOf(name: string): Promise<AnyObject> {
    const path = `/apis/argoproj.io/v1alpha1/namespaces/${space}/applications/${name}`
    return (await this.cluster.admin.call('GET', path)).body.status ?? {}
  }

  /** Whether the Application is in sync with the newest commit; `health` where it has to be that too. */
  async isSynced(name: string, health?: string): Promise<boolean> {
    const { sync, operationState, health: found } = await this.statusOf(name)
    const isDone = operationState?.phase === 'Succeeded'
    return (
      isDone &&
      sync?.status === 'Synced' &&
      sync.revision === this.#revision &&
      [undefined, found?.status].includes(health)
    )
  }

  /** Writes a file of the repository, or removes it, and has the Application looked at. */
  async commit(application: string, path: string, content?: string): Promise<void> {
    if (content === undefined) await this.git('rm', '--quiet', path)
    else writeFileSync(join(this.repository, path), content)
    await this.#commitAll()
    await this.refresh(application)
  }

  async refresh(application: string): Promise<void> {
    const annotation = 'argocd.argoproj.io/refresh=hard'
    await kubectl(this.cluster, ['annotate', '-n', space, 'application', application, annotation, '--overwrite'])
  }

  /** Syncs an Application that is at rest, whether it has to or not. */
  async sync(application: string, syncOptions: readonly string[]): Promise<void> {
    const operation = {
      initiatedBy: { username: 'test' },
      sync: { syncOptions: ['CreateNamespace=true', ...syncOptions] },
    }
    const patch = ['--type=merge', '--patch', JSON.stringify({ operation })]
    await kubectl(this.cluster, ['patch', '-n', space, 'application', application, ...patch])
  }

  async #commitAll(): Promise<void> {
    await this.git('add', '--all')
    await this.git('-c', 'user.name=test', '-c', 'user.email=test@example.com', 'commit', '--quiet', '--message=test')
    this.#revision = (await this.git('rev-parse', 'HEAD')).trim()
  }

  async git(...args: readonly string[]): Promise<string> {
    const env = { HOME: this.#home, PATH: process.env['PATH'] ?? '' }
    return (await runProgram('git', ['-C', this.repository, ...args], { timeoutMs: 20_000, env })).stdout
  }

  /** The lines with which its programs report an error. */
  complaints(): readonly string[] {
    const lines = this.#programs.flatMap(({ log }) => log.split('\n'))
    return lines.filter((line) => /"level":"(error|fatal|panic)"|^[EF]\d{4} |panic:/.test(line))
  }
}
