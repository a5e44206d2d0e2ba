import { z } from 'zod'

/** How one test of the suite ended. */
export interface Outcome {
  readonly name: string
  readonly state: string
  readonly seconds: number
  /** The first words of the failure or of the reason to skip; empty where the test passed. */
  readonly reason: string
}

/** Ginkgo's JSON report, as far as it is read here; `RunTime` is in nanoseconds. */
const reportSchema = z.array(
  z.object({
    SpecReports: z
      .array(
        z.object({
          ContainerHierarchyTexts: z.array(z.string()).nullish(),
          LeafNodeText: z.string(),
          LeafNodeType: z.string(),
          State: z.string(),
          RunTime: z.number(),
          Failure: z.object({ Message: z.string() }).nullish(),
        }),
      )
      .nullish(),
  }),
)

const reasonLength = 300

/**
 * Outcomes of the tests in a report of ginkgo. Left out are the nodes around tests (`BeforeSuite`) that passed, and the tests
 * that the focus did not select, which ginkgo reports as skipped without a reason.
 */
export function readOutcomes(json: string): readonly Outcome[] {
  return reportSchema.parse(JSON.parse(json)).flatMap(({ SpecReports }) =>
    (SpecReports ?? [])
      .filter(({ State, Failure }) => State !== 'skipped' || (Failure?.Message ?? '') !== '')
      .filter(({ LeafNodeType, State }) => LeafNodeType === 'It' || State !== 'passed')
      .map((spec) => ({
        name: specName(spec),
        state: spec.State,
        seconds: Math.round(spec.RunTime / 1e8) / 10,
        reason: spec.Failure?.Message.replaceAll(/\s+/g, ' ').slice(0, reasonLength) ?? '',
      })),
  )
}

function specName(spec: {
  readonly ContainerHierarchyTexts?: readonly string[] | null | undefined
  readonly LeafNodeText: string
  readonly LeafNodeType: string
}): string {
  const name = [...(spec.ContainerHierarchyTexts ?? []), spec.LeafNodeText].filter((text) => text !== '').join(' ')
  return spec.LeafNodeType === 'It' ? name : `<${spec.LeafNodeType}> ${name}`.trim()
}

/** Whether the limit of the run ended the test: it has no outcome of its own then. A test's own timeout is a failure. */
export function isCutOff({ state, reason }: Outcome): boolean {
  return state === 'interrupted' || (state === 'timedout' && reason.includes('suite timeout'))
}

/** Whether the suite demands that no other test runs beside this one. */
export function isSerial(name: string): boolean {
  return name.includes('[Serial]')
}

/** Tests of `names` that have no outcome yet, in batches of at most `size`; no batch has serial tests and others. */
export function planBatches(
  names: readonly string[],
  outcomes: readonly Outcome[],
  size: number,
): readonly (readonly string[])[] {
  const known = new Set(outcomes.map(({ name }) => name))
  const left = names.filter((name) => !known.has(name))
  const others = left.filter((name) => !isSerial(name))
  return [...cut(others, size), ...cut(left.filter(isSerial), size)]
}

function cut(names: readonly string[], size: number): readonly (readonly string[])[] {
  return Array.from({ length: Math.ceil(names.length / size) }, (_, index) =>
    names.slice(index * size, (index + 1) * size),
  )
}

/** A regular expression of Go that matches this test alone: ginkgo puts the suite's title before the name. */
export function focusOn(name: string): string {
  return `(^| )${name.replaceAll(/[\\^$.|?*+()[\]{}]/g, String.raw`\$&`)}$`
}

export function countStates(outcomes: readonly Outcome[]): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {}
  for (const { state } of outcomes) counts[state] = (counts[state] ?? 0) + 1
  return counts
}

/** The report of one run as Markdown: counts, what did not pass with its reason and the peer's outcome, then all tests. */
export function renderReport(
  title: string,
  what: string,
  outcomes: readonly Outcome[],
  peers: readonly Outcome[] = [],
): string {
  const peerStates = new Map(peers.map(({ name, state }) => [name, state]))
  const counts = Object.entries(countStates(outcomes))
    .map(([state, count]) => `${count} ${state}`)
    .join(', ')
  const sorted = outcomes.toSorted((a, b) => a.name.localeCompare(b.name))
  const others = sorted.filter(({ state }) => state !== 'passed')
  const besidePeer = (name: string) => (peers.length === 0 ? '' : ` (peer: ${peerStates.get(name) ?? 'not run'})`)
  return [
    `# ${title}: ${counts}`,
    '',
    what,
    '',
    '## Not passed',
    '',
    ...others.map(({ name, state, reason }) => `- ${state}${besidePeer(name)}: ${name}: ${reason}`),
    '',
    '## All',
    '',
    ...sorted.map(({ name, state, seconds }) => `- ${state}, ${seconds} s: ${name}`),
    '',
  ].join('\n')
}
