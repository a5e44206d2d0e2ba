import { isDeepStrictEqual } from 'node:util'
import { formatTime, type Json } from '../../model/api-object.ts'
import type { Dialect } from '../../model/dialect.ts'
import { type Ip, ipFamily } from '../../model/ip.ts'
import { type ApiDocument, valueAt } from '../document.ts'
import { renderDocument } from '../resources/stored-text.ts'
import type { AddressLock } from './pools.ts'

export interface LockContext {
  readonly dialect: Dialect
  readonly now: () => Date
  readonly newUid: () => string
}

/** Returns the lock that holds addresses by IPAddress objects whose parent is that Service. */
export function serviceAddressLock(
  context: LockContext,
  { namespace = '', name = '' }: ApiDocument['metadata'],
): AddressLock {
  const parentRef = { group: '', resource: 'services', namespace, name }
  return {
    render: (address) => renderDocument(ipAddress(context, address, parentRef)),
    isOwn: (text) => isDeepStrictEqual(valueAt(JSON.parse(text) as Json, 'spec', 'parentRef'), parentRef),
  }
}

function ipAddress({ dialect, now, newUid }: LockContext, address: Ip, parentRef: Json): ApiDocument {
  const { ipFamily: familyLabel, ipAddressManagedBy } = dialect.labels
  return {
    kind: 'IPAddress',
    apiVersion: `${dialect.groups.networking}/v1`,
    metadata: {
      name: address,
      uid: newUid(),
      creationTimestamp: formatTime(now()),
      labels: { [familyLabel]: ipFamily(address), [ipAddressManagedBy]: dialect.ipAllocatorName },
    },
    spec: { parentRef },
  }
}
