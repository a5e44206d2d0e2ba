export type Journey = 'pod to pod' | 'pod to Service' | 'DNS' | 'node port'

/** How a program is brought up, reloaded and used beside us; commands of a shell in its root. */
export interface NeighbourProgram {
  readonly name: string
  /** In the root. */
  readonly file: string
  readonly start: string
  readonly reload: string
  /** What pods lose before the remedy that `check` names was applied: where our rules accept pods' traffic, and where they do not. */
  readonly refused: readonly Journey[]
  readonly refusedUnaccepted: readonly Journey[]
  /** A container or machine of its own; one that publishes answers `from-guest` on port 8088 of the node. */
  readonly guest?: {
    readonly publishes: boolean
    readonly start: string
    readonly ask: (address: string, port: number) => string
  }
  readonly stop?: string
}

const attempts = 'for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do'
const image = 'mkdir -p /tmp/image/bin && cp /bin/busybox /tmp/image/bin/busybox && tar -C /tmp/image -c .'
const serve = '/bin/busybox nc -ll -p 80 -e /bin/busybox echo from-guest'
const podman = 'podman --storage-driver=vfs --cgroup-manager=cgroupfs --events-backend=none --runtime=runc'
const dockerd = `(dockerd --storage-driver=vfs --cgroup-parent=/plt-beside >/tmp/dockerd.log 2>&1 &); ${attempts} docker version && break; sleep 0.5; done`
const libvirtd = '(libvirtd >/tmp/libvirtd.log 2>&1 &)'
const virsh = 'virsh -c network:///system'

/** In the container's network namespace. */
function fromGuest(pid: string, address: string, port: number): string {
  return `nsenter -t $(${pid}) -n busybox nc -w 3 ${address} ${port}`
}

export const programs: readonly NeighbourProgram[] = [
  {
    name: 'Docker',
    file: '/usr/sbin/dockerd',
    // It sets the policy DROP where it turns forwarding on itself.
    start: `echo 0 >/proc/sys/net/ipv4/ip_forward; ${dockerd}`,
    reload: `docker rm -f guest; kill $(cat /run/docker.pid); ${attempts} [ -e /run/docker.pid ] || break; sleep 0.5; done; ${dockerd}`,
    refused: [],
    refusedUnaccepted: ['pod to pod', 'pod to Service'],
    guest: {
      publishes: true,
      start: `${image} | docker import - guest && docker run -d --name guest -p 8088:80 guest ${serve}`,
      ask: (address, port) => fromGuest("docker inspect -f '{{.State.Pid}}' guest", address, port),
    },
    stop: 'docker rm -f guest; find /sys/fs/cgroup/*/plt-beside -depth -type d -exec rmdir {} \\;',
  },
  {
    name: 'Podman',
    file: '/usr/bin/podman',
    start: `echo '{"default":[{"type":"insecureAcceptAnything"}]}' >/etc/containers/policy.json; ${image} | ${podman} import - guest`,
    reload: `${podman} network reload --all`,
    refused: [],
    refusedUnaccepted: [],
    guest: {
      publishes: true,
      start: `${podman} run -d --name guest --cgroup-parent=/plt-beside -p 8088:80 guest ${serve}`,
      ask: (address, port) => fromGuest(`${podman} inspect -f '{{.State.Pid}}' guest`, address, port),
    },
    stop: `${podman} rm -f -t 0 guest; find /sys/fs/cgroup/*/plt-beside -depth -type d -exec rmdir {} \\;`,
  },
  {
    name: 'libvirt',
    file: '/usr/sbin/libvirtd',
    start: `virtlogd -d; ${libvirtd}; ${attempts} ${virsh} net-list && break; sleep 0.5; done; ${virsh} net-start default`,
    reload: `${virsh} net-destroy default; ${virsh} net-start default`,
    refused: [],
    refusedUnaccepted: [],
    guest: {
      publishes: false,
      start: `unshare --net sleep 1000 & echo $! >/tmp/machine.pid; ${attempts} [ $(readlink /proc/$!/ns/net) = $(readlink /proc/$$/ns/net) ] || break; sleep 0.1; done
        ip link add vm0 type veth peer name vm1 netns $(cat /tmp/machine.pid) && ip link set vm0 master virbr0 up
        nsenter -t $(cat /tmp/machine.pid) -n sh -ec 'ip address add 192.168.122.10/24 dev vm1; ip link set vm1 up; ip route add default via 192.168.122.1'`,
      ask: (address, port) =>
        `${attempts} ${fromGuest('cat /tmp/machine.pid', address, port)} && break; sleep 0.5; done`,
    },
  },
  {
    name: 'firewalld',
    file: '/usr/sbin/firewalld',
    start: `mkdir -p /run/dbus; dbus-daemon --system --fork --nopidfile; (firewalld --nofork --nopid >/tmp/firewalld.log 2>&1 &); ${attempts} firewall-cmd --state && break; sleep 0.5; done`,
    reload: 'firewall-cmd --reload',
    refused: ['pod to pod', 'DNS'],
    refusedUnaccepted: ['pod to pod', 'DNS'],
  },
  {
    name: 'ufw',
    file: '/usr/sbin/ufw',
    start: 'ufw --force enable',
    reload: 'ufw reload',
    refused: ['DNS'],
    refusedUnaccepted: ['pod to pod', 'pod to Service', 'DNS'],
  },
]
