/**
 * Why a target was missed in the last measurement, and what would meet it, by the beginning of the figure's name. The
 * page shows the text for missed figures. Remove an entry when its target is met permanently.
 */
const WHY: readonly (readonly [figure: string, why: string])[] = [
  [
    'recall@10',
    'Some 900 settings were tried; two small embedding models beside the words gave LoCoMo 0.82, and English notes 0.55 instead of 0.49 ([decision 0004](../decisions/0004-search-without-a-model.md)). A larger model might do more.',
  ],
  [
    'read models catch up from KurrentDB',
    'One process makes the rows and is busy all the time, a sixth of it with terms; the server of the tests and Postgres take the other core. A thread for terms would do it where there is a third core.',
  ],
  ['--partitions 4 on two cores', 'One partition and its Postgres already fill two cores.'],
  [
    '`ledger.context` while the conversation is compacted',
    'Who reads what another process has just appended waits for the disk once ([decision 0002](../decisions/0002-event-store-on-postgres.md)). A column of what is on the disk would do it, and cost the writers.',
  ],
  [
    'erasable: `ledger.append`, 100 messages to a new conversation',
    'It includes a new key: its file and its directory are synced to the disk. The share of that was not measured.',
  ],
  [
    'erasable:',
    'Decoding an encrypted text takes 16 µs, and a plain one 3 µs; the data of such an event grows from 503 to 770 characters.',
  ],
  ['`verify` with the proof', 'The positions of all events are read a second time, in the order of the tree.'],
  [
    'verify one conversation',
    'The thread of the rows is busy all the time, a fifth of it with terms and a sixth with garbage. Its rows are compared piece by piece, where those of short conversations are read at one go.',
  ],
]

/** The reason why a figure missed its target; undefined if unknown. */
export const whyMissed = (name: string): string | undefined => WHY.find(([figure]) => name.startsWith(figure))?.[1]
