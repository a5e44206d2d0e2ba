import DNS from 'dns2'

/** Formats a record as a zone file does; undefined for OPT, which is not a record of a zone. */
export function renderRecord(record: DNS.Packet.Resource): string | undefined {
  if (record.type === DNS.Packet.TYPE.EDNS) return undefined
  const type = DNS.Packet.typeName(record.type)
  return `${absolute(record.name)} ${record.ttl} IN ${type} ${renderData(record)}`
}

function renderData(record: DNS.Packet.Resource): string {
  if (record.address !== undefined) return record.address
  if (record.target !== undefined)
    return `${record.priority} ${record.weight} ${record.port} ${absolute(record.target)}`
  if (record.exchange !== undefined) return `${record.priority} ${absolute(record.exchange)}`
  if (record.primary !== undefined) return renderSoa(record)
  if (record.ns !== undefined) return absolute(record.ns)
  if (record.domain !== undefined) return absolute(record.domain)
  return renderText(record.data)
}

function renderSoa({ primary, admin, serial, refresh, retry, expiration, minimum }: DNS.Packet.Resource): string {
  return [absolute(primary ?? ''), absolute(admin ?? ''), serial, refresh, retry, expiration, minimum].join(' ')
}

function renderText(data: string | string[] | Buffer | undefined): string {
  if (Buffer.isBuffer(data)) return `\\# ${data.length} ${data.toString('hex')}`
  return [data ?? []]
    .flat()
    .map((text) => JSON.stringify(text))
    .join(' ')
}

function absolute(name: string): string {
  return name.endsWith('.') ? name : `${name}.`
}
