import type { Component } from '../../loop/component.ts'
import type { AppContext } from '../context.ts'
import { partsOf } from '../option-groups.ts'
import { ConsoleDoor } from './console-door.ts'

/** Composes the console of the cluster. It is on loopback alone, where no identity is asked for. */
export function composeClusterDoor(context: AppContext, parts: readonly Component[]): ConsoleDoor {
  const log = context.logging.logger('platform_api_server').child('console')
  const { app, console } = context.options.values
  const hasAgent = partsOf.agent.some((part) => app.components.includes(part))
  return new ConsoleDoor({
    port: console.serverConsolePort,
    option: '--server-console-port',
    access: { isPublic: () => false, bearerTokens: () => [] },
    load: async () => (await import('./cluster-console.ts')).createClusterConsole({ context, parts, hasAgent, log }),
    log,
  })
}
