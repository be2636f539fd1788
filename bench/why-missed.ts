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
    'Of the additional 8 ms of processor time, encryption takes 2.4 ms, decryption by the read models 1.1 ms, the longer data 0.6 ms in the database, and the new key 0.4 ms. The two syncs of its file and its directory take 0.8 ms on an idle disk, and 5 to 9 ms on one that other programs use.',
  ],
  [
    'erasable: `ledger.context`',
    'Four runs of the same code on this machine gave 1.42, 1.46, 1.48 and 1.60. Node.js creates a cipher for each text.',
  ],
  [
    'redaction: `ledger.append`, 100 messages to a new conversation',
    'Two runs of the same code on this machine gave 1.13 and 1.19.',
  ],
  ['`verify` with the proof', 'The hashes of all events are read a second time, in the order of the tree.'],
  [
    'verify one conversation',
    'The thread of the rows is busy all the time, a fifth of it with terms and a sixth with garbage. Its rows are compared piece by piece, where those of short conversations are read at one go.',
  ],
]

/** The reason why a figure missed its target; undefined if unknown. */
export const whyMissed = (name: string): string | undefined => WHY.find(([figure]) => name.startsWith(figure))?.[1]
