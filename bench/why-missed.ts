/**
 * Why a target was missed when it was measured last, and what would do it, by the beginning of the figure's name. The
 * page tells it of figures that are missed; what is met for good loses its line.
 */
const WHY: readonly (readonly [figure: string, why: string])[] = [
  [
    'POST of one message, p50',
    'A bare server of `node:http` that parses, appends and answers takes as long, so what is beside the append is HTTP itself, its client and the kernel. A server that is no JavaScript would do it.',
  ],
  [
    'POST of one message by 64 clients',
    'Clients, service and Postgres share two cores, and this machine had a slow hour: 3,150 to 3,750 were seen on 2026-11-24. A second `serve` over the same database, on cores of its own, would do it.',
  ],
  [
    '`ledger.append` to a conversation in use, p50',
    'A raw INSERT takes 0.20 ms on this machine, and took 0.27 on the one before: what an append does besides is processor time, which a faster disk does not shorten.',
  ],
  [
    '16 writers, each a process',
    'Each append waits for the disk by a second, empty commit, and sixteen processes share two cores with the server. Without NOTIFY a tenth is won, and readers would have to ask again and again.',
  ],
  [
    'search within a conversation of 1,000, p95',
    'Looking up and ranking takes 0.1 ms; the rest is waiting for the database, which is asked several times, one behind the other. One function there that answers all of it would do it.',
  ],
  [
    'recall@10',
    'Some 900 settings were tried; what is missing needs the meaning of words, so an embedding model ([decision 0004](decisions/0004-search-without-a-model.md)).',
  ],
  [
    'read models catch up from KurrentDB',
    'One process makes the rows and is busy all the time, a sixth of it with terms; the server of the tests and Postgres take the other core. A thread for terms would do it where there is a third core.',
  ],
  ['--partitions 4 on two cores', 'One partition and its Postgres already fill two cores.'],
  [
    '`ledger.context` while the conversation is compacted',
    'Who reads what another process has just appended waits for the disk once ([decision 0002](decisions/0002-event-store-on-postgres.md)). A column of what is on the disk would do it, and cost the writers.',
  ],
  [
    'verify one conversation',
    'The thread of the rows is busy all the time, a fifth of it with terms and a sixth with garbage. Its rows are compared piece by piece, where those of short conversations are read at one go.',
  ],
]

/** What is known of a figure's miss. */
export const whyMissed = (name: string): string | undefined => WHY.find(([figure]) => name.startsWith(figure))?.[1]
