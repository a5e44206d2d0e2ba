import { RE2JS } from 're2js'
import { fallsThrough } from '../../corefile/fallthrough.ts'
import { className, flag, rcode, recordClass, recordType, typeName } from '../../wire/codes.ts'
import { DnsFormatError } from '../../wire/errors.ts'
import { extendedErrorOption } from '../../wire/extended-error.ts'
import { foldName, nameText } from '../../wire/name.ts'
import type { Query } from '../../wire/query.ts'
import type { DnsRecord } from '../../wire/record.ts'
import { parseRecordText } from '../../wire/record-text.ts'
import type { Reply } from '../../wire/response.ts'
import type { CountTemplate, TemplateFailure } from './metrics.ts'
import type { TemplateSettings } from './settings.ts'
import { type CompiledTemplate, compileTemplate, type TemplateData } from './text-template.ts'

/** The TTL of a record whose template has none. RFC 1035 defines no default; CoreDNS uses an hour. */
const defaultTtl = 3600

interface RecordTemplate {
  readonly text: string
  readonly fill: CompiledTemplate
}

interface ActiveTemplate {
  readonly settings: TemplateSettings
  readonly patterns: readonly RE2JS[]
  readonly answer: readonly RecordTemplate[]
  readonly additional: readonly RecordTemplate[]
  readonly authority: readonly RecordTemplate[]
  readonly extendedError: Buffer | undefined
}

/** The answers of the `template` plugins of a server block, made from the question by patterns. */
export class TemplateAnswers {
  readonly #templates: readonly ActiveTemplate[]
  readonly #count: CountTemplate

  constructor(settings: readonly TemplateSettings[], count: CountTemplate = () => {}) {
    this.#templates = settings.map(activate)
    this.#count = count
  }

  /** Returns undefined where the next plugin answers. `remote` is the client's address. */
  answer(query: Query, remote: string): Reply | undefined {
    for (const template of this.#templates) {
      if (!concerns(template.settings, query)) continue
      const name = foldName(query.name)
      const data = findMatch(template, nameText(name), query, remote)
      if (data !== undefined) return this.#makeReply(template, data)
      if (!fallsThrough(template.settings.fallthrough, name)) return emptyReply(rcode.SERVFAIL)
    }
    return undefined
  }

  /** Makes the reply. A template that does not make a whole record is an error of the configuration: SERVFAIL. */
  #makeReply(template: ActiveTemplate, data: TemplateData): Reply {
    const { settings, extendedError } = template
    const labels = labelsOf(data)
    this.#count('matches_total', labels)
    if (settings.rcode === rcode.SERVFAIL) return emptyReply(rcode.SERVFAIL)
    const made = { answer: [] as DnsRecord[], authority: [] as DnsRecord[], additional: [] as DnsRecord[] }
    for (const section of ['answer', 'authority', 'additional'] as const) {
      for (const { text, fill } of template[section]) {
        const record = makeRecord(fill, data)
        if (typeof record === 'string') {
          this.#count(record, { ...labels, section, template: text })
          return emptyReply(rcode.SERVFAIL)
        }
        made[section].push(record)
      }
    }
    return { rcode: settings.rcode, flags: flag.AA, ...made, extendedError }
  }
}

/** The codes that have no name are chosen by clients: one label value stands for all of them. */
function labelsOf({ zone, class: ofClass, type }: TemplateData): Readonly<Record<'zone' | 'class' | 'type', string>> {
  return {
    zone,
    class: /^CLASS\d/.test(ofClass) ? 'other' : ofClass,
    type: /^TYPE\d/.test(type) ? 'other' : type,
  }
}

/** Returns the record, or the step that failed. */
function makeRecord(fill: CompiledTemplate, data: TemplateData): DnsRecord | TemplateFailure {
  let failure: TemplateFailure = 'template_failures_total'
  try {
    const text = fill(data)
    failure = 'rr_failures_total'
    return parseRecordText(text, defaultTtl)
  } catch (error) {
    if (!(error instanceof DnsFormatError)) throw error
    return failure
  }
}

function activate(settings: TemplateSettings): ActiveTemplate {
  const compile = (texts: readonly string[]) =>
    texts.flatMap((text) => {
      const fill = compileTemplate(text)
      return fill === undefined ? [] : [{ text, fill }]
    })
  return {
    settings,
    patterns: (settings.match.length === 0 ? ['.*'] : settings.match).map((pattern) => RE2JS.compile(pattern)),
    answer: compile(settings.answer),
    additional: compile(settings.additional),
    authority: compile(settings.authority),
    extendedError:
      settings.extendedError && extendedErrorOption(settings.extendedError.code, settings.extendedError.reason),
  }
}

function concerns({ class: wantedClass, type, zones }: TemplateSettings, query: Query): boolean {
  const anyClass = wantedClass === recordClass.ANY || query.class === recordClass.ANY
  const anyType = type === recordType.ANY || query.type === recordType.ANY
  if (!anyClass && query.class !== wantedClass) return false
  if (!anyType && query.type !== type) return false
  return zones.some((zone) => query.isUnder(zone))
}

function findMatch(template: ActiveTemplate, name: string, query: Query, remote: string): TemplateData | undefined {
  const { settings, patterns } = template
  for (const pattern of patterns) {
    const matcher = pattern.matcher(name)
    if (!matcher.find()) continue
    const match = Array.from({ length: matcher.groupCount() + 1 }, (_, group) => matcher.group(group) ?? '')
    const named = Object.entries(pattern.namedGroups()).map(([key, group]) => [key, match[Number(group)] ?? ''])
    return {
      ...describeQuestion(settings, query, name),
      pattern: pattern.pattern(),
      match,
      groups: { ...Object.fromEntries(match.entries()), ...Object.fromEntries(named) },
      remote,
    }
  }
  return undefined
}

/** Describes the question. For a question of any class or type, class and type are those of the template. */
function describeQuestion({ zones, class: ownClass, type: ownType }: TemplateSettings, query: Query, name: string) {
  const zone = zones
    .filter((candidate) => query.isUnder(candidate))
    .reduce((longest, candidate) => (candidate.length > longest.length ? candidate : longest))
  return {
    name,
    zone: nameText(zone),
    class: className(query.class === recordClass.ANY ? ownClass : query.class),
    type: typeName(query.type === recordType.ANY ? ownType : query.type),
    question: { name: nameText(query.name), type: query.type, class: query.class, id: query.id },
  }
}

function emptyReply(code: number): Reply {
  return { rcode: code, flags: 0, answer: [], authority: [], additional: [] }
}
