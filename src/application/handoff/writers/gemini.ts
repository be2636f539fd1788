/**
 * Gemini CLI: `tmp/<project>/chats/session-<time>-<session>.jsonl`, as its `chatRecordingService` writes it. Gemini CLI
 * has no record for a compaction; it writes the summary as a message of the user in `<state_snapshot>`, and so does this.
 * A field of the header names that message.
 */
import { createHash, randomUUID } from 'node:crypto'
import { isRecord } from '../../../lib/is-record.js'
import { shellWord } from '../../../lib/platform.js'
import { agentFolders } from '../../../lib/user-folders.js'
import {
  jsonLines,
  textOf,
  type ProgramDirectory,
  type SessionCall,
  type SessionPart,
  type SessionWriter,
} from '../session.js'

const partOf = (part: SessionPart): unknown =>
  part.kind === 'text' ? { text: part.text } : { inlineData: { mimeType: part.mediaType, data: part.data } }

function callRecord({ id, name, input, result }: SessionCall): unknown {
  const output = textOf(result.parts)
  return {
    id,
    name,
    args: input,
    result: [
      { functionResponse: { id, name, response: result.isError ? { error: output } : { output } } },
      ...result.parts.filter(({ kind }) => kind === 'image').map(partOf),
    ],
    status: result.isError ? 'error' : 'success',
    timestamp: result.at,
  }
}

/** The projects that Gemini CLI knows, by path. */
async function registered(directory: ProgramDirectory, cwd: string): Promise<string | undefined> {
  try {
    const value: unknown = JSON.parse((await directory.read('projects.json')) ?? '{}')
    const projects = isRecord(value) ? value['projects'] : undefined
    const name = isRecord(projects) ? projects[cwd] : undefined
    return typeof name === 'string' && /^[\w-]+$/u.test(name) ? name : undefined
  } catch {
    return undefined
  }
}

/** The directory of a project in `tmp`; undefined if Gemini CLI never ran in it. Older versions name it by a hash. */
async function projectOf(directory: ProgramDirectory, cwd: string, hash: string): Promise<string | undefined> {
  const known = await registered(directory, cwd)
  if (known !== undefined) return known
  const names = await directory.list('tmp')
  for (const name of names) if ((await directory.read(`tmp/${name}/.project_root`))?.trim() === cwd) return name
  return names.includes(hash) ? hash : undefined
}

/** Whether a text is already a summary of Gemini CLI. */
const isSnapshot = (text: string | undefined): text is string => text?.includes('<state_snapshot>') === true

export const geminiWriter: SessionWriter = {
  program: 'gemini',
  home: agentFolders.gemini,
  async write({ id, cwd, title, at, handover, turns }, directory) {
    const projectHash = createHash('sha256').update(cwd).digest('hex')
    const project = await projectOf(directory, cwd, projectHash)
    if (project === undefined)
      return `Gemini CLI has not been used in ${cwd}, so it has no directory for its sessions: start gemini there once, or name another project with --cwd`
    const message = (type: 'user' | 'gemini', timestamp: string, fields: Readonly<Record<string, unknown>>) => ({
      id: randomUUID(),
      timestamp,
      type,
      ...fields,
    })
    const snapshot = message('user', at, {
      content: [{ text: isSnapshot(handover) ? handover : `<state_snapshot>\n${handover ?? ''}\n</state_snapshot>` }],
    })
    const records: unknown[] = [
      {
        sessionId: id,
        projectHash,
        startTime: at,
        lastUpdated: at,
        kind: 'main',
        ...(title === undefined ? {} : { summary: title }),
        // Gemini CLI ignores it. The importer reads it.
        ...(handover === undefined ? {} : { contextLedger: { handover: snapshot.id } }),
      },
      ...(handover === undefined ? [] : [snapshot]),
      ...turns.map((turn) =>
        turn.role === 'user'
          ? message('user', turn.at, { content: turn.parts.map(partOf) })
          : message('gemini', turn.at, {
              content: turn.text,
              thoughts: [],
              tokens: null,
              model: turn.model ?? 'unknown',
              ...(turn.calls.length === 0 ? {} : { toolCalls: turn.calls.map(callRecord) }),
            }),
      ),
    ]
    return {
      path: `tmp/${project}/chats/session-${at.slice(0, 16).replaceAll(':', '-')}-${id.slice(0, 8)}.jsonl`,
      content: jsonLines(records),
      sourceId: id,
      resume: () => [`cd ${shellWord(cwd)} && gemini --resume ${id}`],
    }
  },
}
