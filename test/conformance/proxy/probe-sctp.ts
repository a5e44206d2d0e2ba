import type { PacketLab, Sender } from '../../kernel/netfilter/packet-lab.ts'

/** One association that is begun. */
export interface SctpProbe {
  readonly source: string
  readonly destination: string
  readonly port: number
}

/** No answer is waited for, so the entries have to stay until they are read; the raw packets have no checksum. */
const settings = ['net.netfilter.nf_conntrack_checksum=0', 'net.netfilter.nf_conntrack_sctp_timeout_cookie_wait=120']

/** Each line is `family source destination sourcePort port`: sends an INIT (RFC 9260, 3.3.2). What OUTPUT refuses is no error here. */
const sender = `use Socket qw(:all);
while (<STDIN>) {
  my ($family, $source, $destination, $from, $to) = split;
  my $af = $family == 4 ? AF_INET : AF_INET6;
  my $pack = $family == 4 ? \\&pack_sockaddr_in : \\&pack_sockaddr_in6;
  socket(my $socket, $af, SOCK_RAW, 132) or die "socket: $!";
  bind($socket, $pack->(0, inet_pton($af, $source))) or die "bind $source: $!";
  my $init = pack('C C n N N n n N', 1, 0, 20, 1, 65536, 1, 1, 1);
  send($socket, pack('n n N N', $from, $to, 0, 0) . $init, 0, $pack->(0, inet_pton($af, $destination)));
}`

let lastPort = 20_000

/**
 * What becomes of SCTP, by the node's table of connections: the kernel may have no sockets of it. `none` is refused or dropped. Results in the order of
 * the probes.
 */
export async function probeSctp(
  lab: PacketLab,
  from: Sender,
  probes: readonly SctpProbe[],
): Promise<readonly string[]> {
  if (probes.length === 0) return []
  await lab.node.run('sysctl', ['-qw', ...settings], { timeoutMs: 10_000 })
  const sent = probes.map((probe) => ({ ...probe, sourcePort: ++lastPort }))
  const lines = sent.map(({ source, destination, sourcePort, port }) =>
    [source.includes(':') ? 6 : 4, source, destination, sourcePort, port].join(' '),
  )
  await lab.netnsOf(from).run('perl', ['-e', sender], { timeoutMs: 30_000, input: `${lines.join('\n')}\n` })
  const replies = await readReplies(lab)
  return sent.map(({ source, destination, sourcePort, port }) => {
    const reply = replies.get(`${source} ${sourcePort}`)
    if (reply === undefined) return 'none'
    const { address, port: reached, seenFrom } = reply
    const who = address === destination && reached === port ? 'untranslated' : 'endpoint'
    return `${who} ${address}:${reached} seen from ${seenFrom}`
  })
}

interface Reply {
  readonly address: string
  readonly port: number
  readonly seenFrom: string
}

/** By source and source port: where answers come from, and to which address they go. */
async function readReplies(lab: PacketLab): Promise<ReadonlyMap<string, Reply>> {
  const replies = new Map<string, Reply>()
  for (const family of ['ipv4', 'ipv6']) {
    const { stdout } = await lab.node.run('conntrack', ['-L', '-f', family, '-p', 'sctp'], { timeoutMs: 30_000 })
    for (const line of stdout.split('\n')) {
      const [source, reply] = [...line.matchAll(/src=(\S+) dst=(\S+) sport=(\d+) dport=\d+/g)]
      if (source?.[1] !== undefined && reply?.[1] !== undefined && reply[2] !== undefined)
        replies.set(`${source[1]} ${source[3]}`, { address: reply[1], port: Number(reply[3]), seenFrom: reply[2] })
    }
  }
  return replies
}
