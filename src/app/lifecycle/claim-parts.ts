import { setTimeout as sleep } from 'node:timers/promises'
import { claimName, findNameHolder, type NameHolder } from '../../host/index.ts'
import { PlatnetError } from '../../model/errors.ts'
import type { Logger } from '../../observe/index.ts'

class ClaimError extends PlatnetError<'not-fit'> {}

/** The parts of an agent that own rules, addresses, routes or links of their network namespace. */
const owningParts = ['proxy', 'policy', 'dns', 'ingress', 'cni', 'routes', 'pods'] as const

/** An agent that has just been asked to stop may need as long to end. */
const defaultPatienceMs = 20_000
const pauseMs = 200

interface ClaimParts {
  readonly components: readonly string[]
  readonly log: Logger
  /** How long an agent that still ends is waited for; 20 s if absent. */
  readonly patienceMs?: number
}

/**
 * Makes this process the only one that has these parts in its network namespace, until it ends. Two agents would change the same rules in turns
 * for ever. Throws ClaimError where another process does not end in time.
 */
export async function claimParts({ components, log, patienceMs = defaultPatienceMs }: ClaimParts): Promise<void> {
  const deadlineMs = performance.now() + patienceMs
  let hasWarned = false
  for (const part of owningParts.filter((each) => components.includes(each)))
    while (!(await claimName(nameOf(part)))) {
      const holder = await findNameHolder(nameOf(part))
      if (holder && isStranger(holder)) {
        log.warn('a process of another user holds the name that keeps a second agent away', { part, ...holder })
        break
      }
      if (!hasWarned) log.info('another agent still has this node; waiting for its end', { part, pid: holder?.pid })
      hasWarned = true
      if (performance.now() > deadlineMs) throw refusal(part, holder)
      await sleep(pauseMs)
    }
}

/** Waits until no other process has one of these parts. Throws ClaimError where one does not end in time. */
export async function awaitUnclaimed({
  components,
  patienceMs = defaultPatienceMs,
}: Omit<ClaimParts, 'log'>): Promise<void> {
  const deadlineMs = performance.now() + patienceMs
  for (;;) {
    const found = await findClaimant(components)
    if (found === undefined) return
    if (performance.now() > deadlineMs) throw refusal(found.part, found.holder)
    await sleep(pauseMs)
  }
}

/** Finds an agent of this network namespace that has one of the parts; undefined where there is none. */
export async function findClaimant(
  components: readonly string[] = owningParts,
): Promise<{ readonly part: string; readonly holder: NameHolder } | undefined> {
  for (const part of owningParts.filter((each) => components.includes(each))) {
    const holder = await findNameHolder(nameOf(part))
    if (holder !== undefined && !isStranger(holder)) return { part, holder }
  }
  return undefined
}

function nameOf(part: string): string {
  return `platnet/${part}`
}

/** Any user can take a name; an agent runs as root. */
function isStranger({ uid }: NameHolder): boolean {
  return uid !== undefined && uid !== 0
}

function refusal(part: string, holder: NameHolder | undefined): ClaimError {
  const who = holder?.pid === undefined ? 'another agent' : `another agent (pid ${holder.pid})`
  return new ClaimError('not-fit', `${who} has the part ${part} of this network namespace`, {
    remedy: 'stop it first (systemctl stop platnet platnet-agent), or start this one with other --components',
  })
}
