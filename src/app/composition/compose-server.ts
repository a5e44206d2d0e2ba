import { setTimeout as sleep } from 'node:timers/promises'
import { type ApiLimits, createApiServer, defaultLimits, isOpenToOthers, readTokenFile } from '../../api/index.ts'
import { HistoryKeeper, type Store } from '../../api/store/index.ts'
import type { Component, Health } from '../../loop/component.ts'
import { Periodic } from '../../loop/periodic.ts'
import { defaultCorefile } from '../../model/default-corefile.ts'
import { createDialect } from '../../model/dialect.ts'
import type { HealthCheck, Logger } from '../../observe/index.ts'
import type { AppContext } from '../context.ts'
import { findAdvertiseAddress, isUnspecified } from './advertise-address.ts'
import {
  ensureServerTls,
  ensureServiceAccountSigner,
  ensureUsageClient,
  type ServerIdentity,
  writeKubeconfigs,
} from './cluster-files.ts'
import { composeKubelets } from './compose-kubelets.ts'
import { composeStore } from './compose-store.ts'
import { type FollowedMachine, followAddresses, machineLook } from './follow-addresses.ts'
import { findNodeName } from './node-identity.ts'

const compactionIntervalMs = 60_000

/** The files and certificates that the server needs before it can serve. */
type MadeAtStart = Pick<
  Parameters<typeof createApiServer>[0],
  'store' | 'tls' | 'staticTokens' | 'serviceAccounts' | 'usageClient' | 'kubelets'
>

/** Composes the API core with its store and certificates. Its start writes kubeconfigs to the data directory. */
export class ServerSide implements Component {
  readonly name = 'server'
  readonly #context: AppContext
  readonly #log: Logger
  #store: Store | undefined
  #api: ReturnType<typeof createApiServer> | undefined
  #compaction: Periodic | undefined
  #addresses: Periodic | undefined
  /** True once the kubeconfigs are written: who waits for `/readyz` reads them next. */
  #isStarted = false
  /** True once `/readyz` fails while requests are still answered. */
  #isStopping = false

  constructor(context: AppContext) {
    this.#context = context
    this.#log = context.logging.logger('platform_api_server')
  }

  async start(): Promise<void> {
    const { app, api } = this.#context.options.values
    const identity: ServerIdentity = {
      dataDir: app.dataDir,
      bindAddress: api.bindAddress,
      serviceCidrs: api.serviceClusterIpRange,
      nodeName: findNodeName(this.#context.options.values.node.nodeName),
    }
    const tokens = await this.#readTokens(api.tokenAuthFile)
    const look = machineLook(api.bindAddress)
    const since = look()
    const tls = await ensureServerTls(identity)
    const serviceAccounts = await ensureServiceAccountSigner(app.dataDir, api.serviceAccountIssuer)
    const usageClient = await ensureUsageClient(app.dataDir)
    const kubelets = await composeKubelets(app.dataDir, api)
    const authority = { caPem: tls.clientCa ?? '', serviceAccountKeyPem: serviceAccounts.keyPem }
    const store = await composeStore(this.#context, authority, this.#log.child('store'))
    this.#store = store
    this.#api = this.#createApi({ store, tls, staticTokens: tokens, serviceAccounts, usageClient, kubelets })
    await this.#api.start()
    await writeKubeconfigs(identity, this.#api.port)
    this.#isStarted = true
    this.#compaction = this.#keepHistoryShort(store)
    if (isUnspecified(api.bindAddress)) this.#addresses = this.#followAddresses(identity, { look, since })
  }

  /** Fails `/readyz` and serves for `--shutdown-delay`, so that load balancers choose another server first. */
  async drain(): Promise<void> {
    this.#isStopping = true
    await sleep(this.#context.live.values.api.shutdownDelay * 1000)
  }

  async stop(scope: { signal: AbortSignal }): Promise<void> {
    this.#isStopping = true
    await this.#addresses?.stop(scope)
    await this.#compaction?.stop(scope)
    await this.#api?.stop(scope)
    await this.#store?.close()
  }

  health(): Health {
    if (this.#isStopping) return { level: 'unknown', message: 'stopping', sinceMs: 0 }
    const store = this.#storeHealth()
    if (store.level === 'stopped') return store
    if (!this.#isStarted) return { level: 'unknown', message: 'starting', sinceMs: 0 }
    return this.#api?.health() ?? { level: 'unknown', message: 'not started', sinceMs: 0 }
  }

  async #readTokens(file: string | undefined): ReturnType<typeof readTokenFile> {
    if (file === undefined) return []
    const tokens = await readTokenFile(file)
    if (await isOpenToOthers(file))
      this.#log.warn('users other than its owner can read or write the token file', {
        file,
        remedy: `chmod 600 ${file}`,
      })
    return tokens
  }

  /** The checks of `/readyz`; `ping` passes whenever requests are answered. */
  #checks(): readonly HealthCheck[] {
    const ok: Health = { level: 'ok', message: '', sinceMs: 0 }
    return [{ name: 'ping', health: () => ok }, { name: 'store', health: () => this.#storeHealth() }, this]
  }

  #storeHealth(): Health {
    const failure = this.#store?.failure
    if (failure) return { level: 'stopped', message: `the store takes no writes: ${failure.message}`, sinceMs: 0 }
    return { level: 'ok', message: '', sinceMs: 0 }
  }

  #createApi(made: MadeAtStart): ReturnType<typeof createApiServer> {
    const { api, app, controllers, dns } = this.#context.options.values
    const { metrics, tracer } = this.#context
    const hasController = app.components.includes('controllers') && controllers.controllers.includes('namespace')
    return createApiServer({
      ...made,
      dialect: createDialect(api.dialect, api.platformDomain),
      serviceCidrs: api.serviceClusterIpRange,
      nodePortRange: api.nodePortRange,
      bindAddress: api.bindAddress,
      advertiseAddress: findAdvertiseAddress(api.bindAddress),
      sharesStore: api.store === 'etcd',
      corefile: defaultCorefile(dns.clusterDomain),
      port: api.securePort,
      authorizationMode: api.authorizationMode,
      admissionPlugins: api.enableAdmissionPlugins,
      admitsAccounts: api.disableAdmissionPlugins?.includes('ServiceAccount') !== true,
      addsTolerations: api.disableAdmissionPlugins?.includes('DefaultTolerationSeconds') !== true,
      limits: liveLimits(this.#context.live),
      sweepsNamespaces: api.sweepNamespaces && !hasController,
      components: () => this.#checks(),
      metrics,
      tracer,
      log: this.#log,
    })
  }

  /** A machine that DHCP gives another address is reached there without a restart. */
  #followAddresses(identity: ServerIdentity, machine: Pick<FollowedMachine, 'look' | 'since'>): Periodic {
    const log = this.#log
    return followAddresses({
      ...machine,
      onReachable: async () => this.#api?.replaceTls(await ensureServerTls(identity)),
      onAdvertised: async (address) => {
        await this.#api?.advertise(address)
        log.info('this machine has another address; the Service kubernetes names it', { address })
      },
      log,
    })
  }

  #keepHistoryShort(store: Store): Periodic {
    const log = this.#log.child('store')
    const keeper = new HistoryKeeper(store, log)
    const periodic = new Periodic(() => keeper.tidy(Date.now()), {
      intervalMs: compactionIntervalMs,
      onError: (error) => log.warn('old history was not removed; the next attempt follows', { error }),
    })
    periodic.start()
    return periodic
  }
}

/** Limits that are read at each use, so that changed options hold at once. */
function liveLimits(live: AppContext['live']): ApiLimits {
  return {
    get maxObjectBytes() {
      return live.values.api.maxObjectBytes
    },
    get maxStoreBytes() {
      return live.values.api.maxStoreBytes ?? defaultLimits.maxStoreBytes
    },
    get maxReads() {
      return live.values.api.maxRequestsInflight
    },
    get maxWrites() {
      return live.values.api.maxMutatingRequestsInflight
    },
    get maxWatches() {
      return live.values.api.maxWatches
    },
  }
}
