import { bigIntToIp, type Ip, ipFamily, parseIp } from '../../../../model/ip.ts'
import { fallsThrough } from '../../corefile/fallthrough.ts'
import { flag, rcode, recordType } from '../../wire/codes.ts'
import { encodeName, foldName, isUnder, nameText, readNameText } from '../../wire/name.ts'
import type { Query } from '../../wire/query.ts'
import { addressRecord, makeRecord } from '../../wire/record.ts'
import type { Reply } from '../../wire/response.ts'
import type { HostsSettings } from './settings.ts'

/** The answers of one `hosts`: names and addresses from its file and from the Corefile. */
export class HostsAnswers {
  readonly #settings: HostsSettings
  readonly #addresses = new Map<string, Set<Ip>>()
  readonly #names = new Map<Ip, Set<string>>()

  /** `file` is the text of the hosts file, empty where there is no file. */
  constructor(settings: HostsSettings, file: string) {
    this.#settings = settings
    for (const line of [...file.split('\n'), ...settings.inline]) this.#addLine(line)
  }

  /** How many answers there are, by name and by address. */
  get size(): number {
    const lists = [...this.#addresses.values(), ...this.#names.values()]
    return lists.reduce((sum, { size }) => sum + size, 0)
  }

  /** Returns undefined where the next plugin answers. A missing name that does not fall through gets SERVFAIL: there is no SOA to deny it with. */
  answer(query: Query): Reply | undefined {
    const { zones, fallthrough } = this.#settings
    if (!zones.some((zone) => query.isUnder(zone))) return undefined
    const name = foldName(query.name)
    if (query.type === recordType.PTR) return this.#answerReverse(query, name)
    const known = this.#addresses.get(nameText(name))
    if (known !== undefined) return this.#answerForward(query, known)
    return fallsThrough(fallthrough, name) ? undefined : reply(rcode.SERVFAIL, [])
  }

  #answerForward(query: Query, known: ReadonlySet<Ip>): Reply {
    const wanted = first(known, (address) => typeOf(address) === query.type)
    const owner = Buffer.from(query.name)
    return reply(
      rcode.NOERROR,
      wanted.map((address) => addressRecord(owner, this.#settings.ttl, address)),
    )
  }

  /** Answers a reverse name. An address that is not in the file, or a name that is no reverse name, is always left to the next plugin. */
  #answerReverse(query: Query, name: Buffer): Reply | undefined {
    const address = addressOf(nameText(name))
    const names = address === undefined ? undefined : this.#names.get(address)
    if (names === undefined) return undefined
    const owner = Buffer.from(query.name)
    return reply(
      rcode.NOERROR,
      first(names, () => true).map((target) =>
        makeRecord(owner, recordType.PTR, this.#settings.ttl, encodeName(target)),
      ),
    )
  }

  /** Adds a line. Lines without an address, and names outside of the zones, are left out. */
  #addLine(line: string): void {
    const [first = '', ...names] = line.replace(/#.*/, '').trim().split(/\s+/)
    const address = parseIp(first.replace(/%.*/, ''))
    if (address === undefined) return
    for (const text of names) {
      const name = canonicalName(text.toLowerCase())
      if (name !== undefined && this.#isInZones(name)) this.#addPair(name, address)
    }
  }

  #isInZones(name: string): boolean {
    const { zones } = this.#settings
    // The root holds every name; for other zones the name has to be encoded.
    if (zones.some((zone) => zone.length === 1)) return true
    const wireName = encodeName(name)
    return zones.some((zone) => isUnder(wireName, zone))
  }

  #addPair(name: string, address: Ip): void {
    addTo(this.#addresses, name, address)
    if (this.#settings.reverse) addTo(this.#names, address, name)
  }
}

const plainName = /^(?=.{1,254}$)[a-z0-9_-]{1,63}(\.[a-z0-9_-]{1,63})*\.?$/

/**
 * Returns the name with its final dot, in the form of `nameText`; undefined where the text is no name. Plain names, of which a file may hold
 * 100,000, are not encoded.
 */
function canonicalName(text: string): string | undefined {
  if (plainName.test(text)) return text.endsWith('.') ? text : `${text}.`
  const name = readNameText(text)
  return name && nameText(name)
}

/** The most records of an answer; no message can hold more. A list of blocked names has one address for all of them. */
const maxRecords = 5_000

function first<T>(items: ReadonlySet<T>, isWanted: (item: T) => boolean): readonly T[] {
  return [...items.values().filter(isWanted).take(maxRecords)]
}

function addTo<K, V>(sets: Map<K, Set<V>>, key: K, value: V): void {
  const known = sets.get(key)
  if (known === undefined) sets.set(key, new Set([value]))
  else known.add(value)
}

function typeOf(address: Ip): number {
  return ipFamily(address) === 'IPv4' ? recordType.A : recordType.AAAA
}

function reply(code: number, answer: Reply['answer']): Reply {
  return { rcode: code, flags: code === rcode.NOERROR ? flag.AA : 0, answer, authority: [], additional: [] }
}

/** Returns the address that a complete reverse name stands for, or undefined. */
function addressOf(name: string): Ip | undefined {
  const octets = /^([\d.]+)\.in-addr\.arpa\.$/.exec(name)?.[1]
  if (octets !== undefined) return parseIp(octets.split('.').reverse().join('.'))
  const digits = /^((?:[0-9a-f]\.){32})ip6\.arpa\.$/.exec(name)?.[1]
  if (digits === undefined) return undefined
  return bigIntToIp(BigInt(`0x${digits.split('.').reverse().join('')}`), 'IPv6')
}
