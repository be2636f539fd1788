/** Writes sessions into a directory, damaged or not, and reads them. */
import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { plainContentId } from '../../../src/application/importers/content-id.js'
import { readTranscript, recognizeTranscript } from '../../../src/application/importers/index.js'
import type { TranscriptItem } from '../../../src/application/importers/transcript.js'
import { writeSqlite } from '../sqlite-program.js'
import type { Session } from './sessions.js'

/** Writes the files of a session. @returns the path that is imported */
export async function writeSession({ files, isDatabase }: Session, folder: string): Promise<string> {
  for (const [path, content] of Object.entries(files)) {
    await mkdir(dirname(join(folder, path)), { recursive: true })
    if (isDatabase === true) writeSqlite(join(folder, path), content)
    else await writeFile(join(folder, path), content)
  }
  return join(folder, Object.keys(files)[0] ?? '')
}

interface ReadSession {
  readonly program: string | undefined
  readonly items: readonly TranscriptItem[]
}

/** Reads a session as `import` does. */
export async function readSession(path: string): Promise<ReadSession> {
  const recognized = await recognizeTranscript(path)
  const items: TranscriptItem[] = []
  if (recognized !== undefined)
    for await (const item of readTranscript(path, recognized.importer, recognized.layout, plainContentId))
      items.push(item)
  return { program: recognized?.importer.program, items }
}

/**
 * What a transcript says, without the places and the ids of its records: an item on each line. A conversation that goes on
 * is not named again.
 */
export const contentOf = (items: readonly TranscriptItem[]): readonly string[] =>
  linesOf(items).filter((line, at, lines) => !line.startsWith('conversation ') || line !== lines[at - 1])

const linesOf = (items: readonly TranscriptItem[]): readonly string[] =>
  items.flatMap((item) => {
    switch (item.kind) {
      case 'conversation':
        return [`conversation ${item.sourceId}`]
      case 'message':
        return [`message ${JSON.stringify(item.body)}`]
      case 'compaction':
        return [
          `compaction ${JSON.stringify([item.summary, item.context.map((entry) => ('body' in entry ? entry.body : entry.kind))])}`,
        ]
      case 'withdrawal':
        return [`withdrawal of ${String(item.sourceIds.length)}`]
      case 'edit':
        return [`edit ${JSON.stringify(item.content)}`]
      case 'undo':
        return [`undo of ${String(item.sourceIds.length)}`]
      case 'damage':
      case 'left-out':
        return []
    }
  })
