import { type ApiDocument, textAt } from '../document.ts'
import type { Store, StoredEntry } from '../store/index.ts'
import { keepReading } from '../store/kept-reading.ts'
import { collectionPrefix, storeKey } from './keys.ts'

const classes = { plural: 'priorityclasses' }
const allClasses = collectionPrefix(classes, undefined)

/** The fields of a PriorityClass that admission reads. */
export interface PriorityOfClass {
  readonly name: string
  readonly value: number
  readonly preemptionPolicy: string
  readonly isDefault: boolean
}

/** Returns the PriorityClass of a name. */
export async function findPriorityClass(store: Store, name: string): Promise<PriorityOfClass | undefined> {
  const entry = await store.get(storeKey(classes, undefined, name))
  return entry && readClass(entry)
}

/** Returns the class of Pods that name none. Of several, which only a race can make, it is the one of the lowest value. */
export const findDefaultClass = keepReading(allClasses, async (store): Promise<PriorityOfClass | undefined> => {
  const { entries } = await store.range(allClasses)
  return entries
    .map(readClass)
    .filter(({ isDefault }) => isDefault)
    .toSorted((one, other) => one.value - other.value)[0]
})

/** The classes by their entries: each Pod asks for them. */
const known = new WeakMap<StoredEntry, PriorityOfClass>()

function readClass(entry: StoredEntry): PriorityOfClass {
  const found = known.get(entry) ?? parseClass(JSON.parse(entry.value) as ApiDocument)
  known.set(entry, found)
  return found
}

function parseClass({ metadata, value, preemptionPolicy, globalDefault }: ApiDocument): PriorityOfClass {
  return {
    name: metadata.name ?? '',
    value: Number(textAt(value) || 0),
    preemptionPolicy: textAt(preemptionPolicy),
    isDefault: globalDefault === true,
  }
}
