/** A chain that a plugin made for one container: `CNI-…` of bridge and ptp, `CNI-DN-…` of portmap. */
interface ContainerChain {
  readonly chain: string
  readonly containerId: string
  readonly jumps: readonly string[]
}

const chainName = /^CNI-(?:[A-Z]{2}-)?[0-9a-f]{8,}$/

/** Matches `name: "net" id: "container"` of the reference plugins; iptables-save puts a backslash before inner quotes. */
const idComment = / -m comment --comment "[^\n]*?id: \\"([A-Za-z0-9][A-Za-z0-9_.-]*)\\"/

/** Parses the output of `iptables-save -t nat`. Chains that name no container are omitted: all containers share them, or no plugin made them. */
export function parseSavedChains(text: string): readonly ContainerChain[] {
  const lines = text.split('\n')
  const names = lines.flatMap((line) => (line.startsWith(':') ? [line.slice(1).split(' ', 1)[0] ?? ''] : []))
  return names
    .filter((name) => chainName.test(name))
    .flatMap((chain) => {
      const jumps = lines.filter((line) => line.startsWith('-A ') && line.endsWith(` -j ${chain}`))
      const own = lines.filter((line) => line.startsWith(`-A ${chain} `))
      const containerId = [...jumps, ...own].map((line) => idComment.exec(line)?.[1]).find((id) => id !== undefined)
      return containerId === undefined ? [] : [{ chain, containerId, jumps }]
    })
}
