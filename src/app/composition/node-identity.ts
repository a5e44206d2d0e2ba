import { hostname } from 'node:os'

/** The name of this node in the API: what was asked for, else the host's name as DNS writes it. */
export function findNodeName(wanted: string | undefined): string {
  return wanted ?? hostname().toLowerCase()
}
