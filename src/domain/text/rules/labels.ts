/** Labels before a rule: "Standing instruction: …", "House rule — …". The label makes the words after it a rule. */

const NAMES_A_RULE = [
  // English.
  String.raw`(?:\p{L}+['’]?s? ){0,3}(?:instructions?|rules?|polic(?:y|ies)|guidelines?|conventions?|requirements?|constraints?|standing orders?|house style|principles?|ground rules?|agreements?|mandates?|directives?)`,
  String.raw`(?:(?:a |one )?(?:\p{L}+ )?(?:notes?|reminders?|memo|heads[- ]up)) (?:for|to|about|on) (?:the |this |our |your |all )?(?:\p{L}+ ){0,2}(?:projects?|repo|repos|repository|team|work|tasks?|sessions?|agents?|chats?|conversations?|runs?|jobs?|future|everything|self|record|later|codebase|whole thing|conversation)`,
  String.raw`(?:project|team|repo|process|permanent|standing|general|security|style) (?:notes?|reminders?)`,
  // German.
  String.raw`(?:\p{L}+ ){0,3}\p{L}*(?:regeln?|anweisung(?:en)?|vorgaben?|richtlinien?|konvention(?:en)?|grundsatz|grundsätze|vorschrift(?:en)?|auflagen?|prinzip|leitlinien?|absprache|vereinbarung)`,
  String.raw`(?:\p{L}+ )?(?:hinweis|notiz|merker|anmerkung|info|ansage) (?:für|fürs|zum|zu|ans|an) (?:\p{L}+ ){0,3}(?:projekte?|repo|team|arbeit|alle|zukunft|später|alles|immer|dauer|sitzung(?:en)?|aufgaben|agenten|agent|gespräche?|chats?|läufe|zusammenarbeit)|gilt (?:\p{L}+ ){0,3}(?:immer|ab sofort|projekt|dauerhaft|überall|generell)|merke|merk dir|(?:feste|allgemeine|ständige) ansage|dauerauftrag`,
  // Spanish, French, Italian and Portuguese.
  String.raw`(?:\p{L}+ ){0,2}(?:instrucci(?:ón|ones)|normas?|reglas?|políticas?|directri(?:z|ces)|consignas?|convenci(?:ón|ones)|principios?|requisitos?|restricci(?:ón|ones)|orden permanente)(?: (?:de|del|para|permanentes?|general(?:es)?|fijas?|internas?|básicas?)(?: \p{L}+){0,4})?`,
  String.raw`(?:notas?|avisos?|recordatorios?|apuntes?) (?:para|del?|general|permanente|fij[oa])(?: \p{L}+){0,4}`,
  String.raw`(?:r[èe]gles?|consignes?|directives?|regole|regola|istruzion[ei]|regras?|instruç(?:ão|ões))(?: \p{L}+){0,4}`,
  String.raw`(?:правил[оа]|указани[ея]|инструкция)(?: \p{L}+){0,3}`,
].join('|')
const AFTER_LABEL = String.raw`(?: ?(?:#|no\.?|nr\.?)? ?\d+)?(?: (?:for|of|about|on|in|from|by|when|für|fürs|im|in|zu|zum|bei|des|der) (?:[\p{L}\p{N}'’/_.-]+ ?){1,5})?`
const SPACED = new RegExp(
  String.raw`^[\s*_#>\[(-]*(?:(?:and|also|another|one more|eine weitere|noch eine|otra|außerdem),? )?(?:${NAMES_A_RULE})${AFTER_LABEL}[\])*_]*\s*(?:[:：]|\s[–—-]|—)\s*(?=\S)`,
  'u',
)
const WRITTEN =
  /^[【[（(「\s]*[^：:，。、\s]{0,12}(?:指令|指示|规矩|规则|规定|规範|规范|約定|约定|原则|原則|要求|须知|注意事项|政策|铁律|纪律|惯例|说明|备注|注意|提醒|ルール|方針|規則|決まり|約束|お約束|決めごと|取り決め|注意事項|規約|前提|申し送り|お願い|メモ|規程|ポリシー|心得|규칙|지침|원칙|방침)[^：:，。、\s]{0,8}[】\]）)」]?\s*(?:[:：]|——|—|－|-\s)\s*(?=\S)/u
/** Labels that announce any sentence: the words after them decide. */
const WEAK =
  /^[\s*_#>-]*(?:important|note|please note|n\.?b\.?|reminder|remember|heads[- ]up|fyi|psa|for the record|keep in mind|wichtig|hinweis|achtung|zur info|zur erinnerung|beachte|importante|ojo|nota|aviso|recuerda|recordatorio|attention|important|注意|提醒|备注|重要|記住|记住|補足|重要|注意点|参考)[!*_]*\s*(?:[:：]|\s[–—-]|—)\s*(?=\S)/iu
const MOST_LABEL = 80
/** A mark after a label. */
const MARK = /[:：—–－]|\s-\s/u

/** The end of a label that names a rule; 0 without one. */
export function endOfLabel(sentence: string): number {
  const head = sentence.slice(0, MOST_LABEL + 20)
  if (!MARK.test(head)) return 0
  const found = SPACED.exec(head.toLowerCase()) ?? WRITTEN.exec(head)
  return found === null || found[0].length > MOST_LABEL ? 0 : found[0].length
}

/** The end of any label before a sentence; 0 without one. */
export const endOfAnyLabel = (sentence: string): number => {
  const end = endOfLabel(sentence)
  return end > 0 ? end : (WEAK.exec(sentence)?.[0].length ?? 0)
}
