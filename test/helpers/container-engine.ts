import { existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { runProgram } from '../../src/host/index.ts'
import { readBuildInfo } from '../../src/observe/index.ts'

const root = resolve(import.meta.dirname, '../..')
const baseImage = 'localhost/platnet-base'
const minutesMs = 60_000

/** Podman with images, containers and settings in one folder. Containers join no control group and use the network of the caller. */
export class ContainerEngine {
  readonly #env: Readonly<Record<string, string>>
  readonly #packages: string

  constructor(folder: string) {
    this.#packages = join(folder, 'packages')
    const [settings, storage] = [join(folder, 'containers.conf'), join(folder, 'storage.conf')]
    this.#env = {
      CONTAINERS_CONF: settings,
      CONTAINERS_STORAGE_CONF: storage,
      PLATNET_IMAGE: 'localhost/platnet:test',
    }
    const containers = '[containers]\ncgroups="disabled"\nlog_driver="k8s-file"\n'
    // Where limits may not be raised, those that an engine sets otherwise are refused.
    const limits = 'default_ulimits=["nofile=10000:10000","nproc=10000:10000"]\n'
    writeFileSync(settings, `${containers}${limits}[engine]\ncgroup_manager="cgroupfs"\nevents_logger="none"\n`)
    writeFileSync(storage, `[storage]\ndriver="overlay"\ngraphroot="${folder}/storage"\nrunroot="${folder}/run"\n`)
  }

  /** Standard output; throws ExecError where podman exits other than 0. */
  async podman(...args: readonly string[]): Promise<string> {
    return (await runProgram('podman', args, { timeoutMs: 10 * minutesMs, env: this.#env })).stdout
  }

  /** Standard output of podman-compose for a compose file. */
  async compose(file: string, ...args: readonly string[]): Promise<string> {
    const run = await runProgram('podman-compose', ['-f', file, ...args], { timeoutMs: 2 * minutesMs, env: this.#env })
    return run.stdout
  }

  /** Runs the health check of a container once: true where it succeeds. Without systemd the engine does so only when it is asked. */
  async isHealthy(container: string): Promise<boolean> {
    return this.podman('healthcheck', 'run', container).then(
      () => true,
      () => false,
    )
  }

  /**
   * Builds the package of this tree, and from it the image of deploy/container, on a Debian root that is made once and
   * kept in .cache.
   */
  async build(): Promise<void> {
    const { version, commit = '' } = readBuildInfo(root)
    const script = [join(root, 'scripts/package.ts'), '--compression', 'none', '--out', this.#packages]
    await runProgram(process.execPath, script, { timeoutMs: 10 * minutesMs, cwd: root })
    await this.podman('import', await makeBase(), `${baseImage}:latest`)
    const values = Object.entries({ BASE: baseImage, VERSION: version, COMMIT: commit }).flatMap(([name, value]) => [
      '--build-arg',
      `${name}=${value}`,
    ])
    const how = ['--network', 'host', '--isolation', 'chroot', '--tag', 'localhost/platnet:test']
    await this.podman(
      'build',
      ...how,
      ...values,
      '--file',
      join(root, 'deploy/container/Containerfile'),
      this.#packages,
    )
  }

  /** Removes containers, volumes and images. */
  async remove(): Promise<void> {
    await this.podman('rm', '--force', '--all', '--time', '1')
    await this.podman('volume', 'rm', '--force', '--all')
    await this.podman('rmi', '--force', '--all')
  }
}

/** An archive of a minimal Debian 12. */
async function makeBase(): Promise<string> {
  const archive = join(root, '.cache/debian-base/bookworm.tar')
  if (existsSync(archive)) return archive
  const folder = `${archive}.${process.pid}`
  mkdirSync(folder, { recursive: true })
  await runProgram('debootstrap', ['--variant=minbase', 'bookworm', folder], { timeoutMs: 10 * minutesMs })
  const left = ['proc', 'sys', 'dev'].map((name) => `--exclude=./${name}/*`)
  await runProgram('tar', ['-C', folder, ...left, '-cf', `${folder}.part`, '.'], { timeoutMs: 5 * minutesMs })
  renameSync(`${folder}.part`, archive)
  rmSync(folder, { recursive: true })
  return archive
}
