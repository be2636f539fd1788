/**
 * Servers that share one log and agree by gossip on the leader. A follower forwards appends to the leader. If the call
 * requires the leader, the follower refuses and names it. Elections are not simulated: a test sets the leader.
 */
import { changes } from '../latch.js'
import { createEventLog, type EventLog, type LogOptions, type ReadableLog, type Recorded } from './log.js'
import type { Member } from './messages.js'
import { startWireServer, type WireServer } from './server.js'

export interface ClusterNode {
  readonly server: WireServer
  /** From now on, reads on this node see nothing new, as on a lagging follower. */
  fallBehind(): void
  catchUp(): void
}

export interface WireCluster {
  readonly nodes: readonly ClusterNode[]
  /** Names every node, so that a client finds the leader by gossip. */
  readonly connectionString: string
  readonly log: EventLog
  /** From now on this node leads, whether or not the former leader is still there. */
  elect(node: ClusterNode): void
  close(): Promise<void>
}

interface Replica extends ReadableLog {
  fallBehind(): void
  catchUp(): void
}

/** The log as one node sees it. */
function createReplica(log: EventLog): Replica {
  const change = changes()
  let until: number | undefined
  const visible = (records: readonly Recorded[]): readonly Recorded[] => {
    const end = until
    return end === undefined ? records : records.filter(({ position }) => position < end)
  }
  return {
    get all() {
      return visible(log.all)
    },
    get end() {
      return until ?? log.end
    },
    stream(name) {
      const view = log.stream(name)
      if (view.kind !== 'found') return view
      const records = visible(view.records)
      return records.length === 0 ? { kind: 'missing' } : { ...view, records }
    },
    changed: () => (until === undefined ? log.changed() : change.next()),
    fallBehind() {
      until ??= log.end
    },
    catchUp() {
      until = undefined
      change.happened()
    },
  }
}

/** Starts this number of servers; the first one leads. */
export async function startWireCluster(size: 2 | 3, options: LogOptions = {}): Promise<WireCluster> {
  const log = createEventLog(options)
  const nodes: ClusterNode[] = []
  const selves: Array<Pick<Member, 'host' | 'port' | 'id'>> = []
  let leading = 0

  const member = (at: number): Member | undefined => {
    const self = selves[at]
    return (
      self && {
        id: self.id,
        host: self.host,
        port: self.port,
        state: at === leading ? 'leader' : 'follower',
        isAlive: nodes[at]?.server.isRunning ?? false,
      }
    )
  }
  const role = {
    leader: () => member(leading),
    members: () => selves.flatMap((_, at) => member(at) ?? []),
  }

  for (let at = 0; at < size; at++) {
    const reads = createReplica(log)
    const server = await startWireServer({
      log,
      reads,
      role(self) {
        selves.push(self)
        return role
      },
    })
    nodes.push({ server, fallBehind: () => reads.fallBehind(), catchUp: () => reads.catchUp() })
  }

  return {
    nodes,
    connectionString: `esdb://${selves.map(({ host, port }) => `${host}:${String(port)}`).join(',')}?tls=false`,
    log,
    elect(node) {
      leading = nodes.indexOf(node)
      log.begin()
    },
    async close() {
      await Promise.all(nodes.map(({ server }) => server.close()))
    },
  }
}
