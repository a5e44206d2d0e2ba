/**
 * A set of field paths as a tree. A step of a path is written as in FieldsV1: `f:name`, `k:{"port":80}` (an item by its keys),
 * `v:"a"` (an item by its value), `i:0`.
 */
export interface FieldSet {
  /** Whether the path that leads here is in the set itself. */
  readonly isMember: boolean
  readonly children: ReadonlyMap<string, FieldSet>
}

export const noFields: FieldSet = { isMember: false, children: new Map() }
/** The set with only the path that leads here. */
export const onlyHere: FieldSet = { isMember: true, children: noFields.children }

export function isEmptySet({ isMember, children }: FieldSet): boolean {
  return !isMember && children.size === 0
}

/** Makes a set; children without paths are left out. */
export function fieldSet(isMember: boolean, children: Iterable<readonly [step: string, child: FieldSet]>): FieldSet {
  const kept = new Map<string, FieldSet>()
  for (const [step, child] of children) if (!isEmptySet(child)) kept.set(step, child)
  if (kept.size === 0) return isMember ? onlyHere : noFields
  return { isMember, children: kept }
}

export function unionOf(left: FieldSet, right: FieldSet): FieldSet {
  if (left === right || isEmptySet(right)) return left
  if (isEmptySet(left)) return right
  const children = new Map(left.children)
  for (const [step, child] of right.children) children.set(step, unionOf(children.get(step) ?? noFields, child))
  return { isMember: left.isMember || right.isMember, children }
}

export function intersectionOf(left: FieldSet, right: FieldSet): FieldSet {
  const children: [string, FieldSet][] = []
  for (const [step, child] of left.children) {
    const other = right.children.get(step)
    if (other !== undefined) children.push([step, intersectionOf(child, other)])
  }
  return fieldSet(left.isMember && right.isMember, children)
}

/** Returns the paths of `left` that are not paths of `right`; paths below a path of `right` stay. */
export function differenceOf(left: FieldSet, right: FieldSet): FieldSet {
  if (isEmptySet(right) || isEmptySet(left)) return left
  const children: [string, FieldSet][] = []
  for (const [step, child] of left.children) {
    children.push([step, differenceOf(child, right.children.get(step) ?? noFields)])
  }
  return fieldSet(left.isMember && !right.isMember, children)
}

/** Returns the set without the branches that start with these steps. */
export function withoutSteps(set: FieldSet, isLeftOut: (step: string) => boolean): FieldSet {
  return fieldSet(
    set.isMember,
    [...set.children].filter(([step]) => !isLeftOut(step)),
  )
}

export function childOf(set: FieldSet, step: string): FieldSet {
  return set.children.get(step) ?? noFields
}

export function isSameSet(left: FieldSet, right: FieldSet): boolean {
  if (left === right) return true
  if (left.isMember !== right.isMember || left.children.size !== right.children.size) return false
  for (const [step, child] of left.children) {
    const other = right.children.get(step)
    if (other === undefined || !isSameSet(child, other)) return false
  }
  return true
}

/** Returns every path of the set below the root; at each level the members first, then the paths below them, both in text order. */
export function pathsOf(set: FieldSet, prefix: readonly string[] = []): readonly (readonly string[])[] {
  const children = [...set.children].sort(([left], [right]) => (left < right ? -1 : 1))
  return [
    ...children.filter(([, child]) => child.isMember).map(([step]) => [...prefix, step]),
    ...children.flatMap(([step, child]) => pathsOf(child, [...prefix, step])),
  ]
}

interface Growing {
  isMember: boolean
  readonly children: Map<string, Growing>
}

/** Returns the set of these paths, made in one pass: repeated unions would copy all earlier paths each time. */
export function setOfPaths(paths: Iterable<readonly string[]>): FieldSet {
  const root: Growing = { isMember: false, children: new Map() }
  for (const path of paths) {
    let node = root
    for (const step of path) {
      const next: Growing = node.children.get(step) ?? { isMember: false, children: new Map() }
      node.children.set(step, next)
      node = next
    }
    node.isMember = true
  }
  return root
}
