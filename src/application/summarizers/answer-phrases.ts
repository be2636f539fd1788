/**
 * Phrases that models put around a summary, or write instead of one, in the languages of the cue words. Data for
 * `clean-answer.ts` and `judge-answer.ts`.
 *
 * A phrase is in a list only if it says nothing about the conversation: removing it loses nothing. "Summary of the
 * budget" is therefore not a heading that is removed, and "Unfortunately the test failed" is not a refusal.
 */

/**
 * Tags of thinking blocks. Reasoning models write them before their answer; they are not part of it. A second request
 * quotes an answer without them, so another list is another version of the formatter.
 */
export const THINKING_TAGS = ['think', 'thinking', 'thought', 'reasoning', 'analysis', 'scratchpad', 'reflection']

/** Words for the summary itself, as models use them in headings and introductions. */
export const SUMMARY_NOUNS = [
  // English
  String.raw`(?:(?:short|brief|concise|updated|condensed|shortened|revised|structured|final|requested|conversation|chat|session)\s+){0,3}(?:summary|summaries|recap)`,
  // German, French, Spanish, Italian, Portuguese, Russian
  String.raw`(?:(?:kurze|gekürzte|knappe|überarbeitete)\s+)?(?:zusammenfassung|kurzfassung)`,
  String.raw`(?:(?:bref|court)\s+)?résumé(?:\s+(?:concis|raccourci|de la conversation))?`,
  String.raw`resumen(?:\s+(?:breve|conciso|de la conversación))?`,
  String.raw`riassunto(?:\s+della conversazione)?`,
  String.raw`resumo(?:\s+da conversa)?`,
  String.raw`(?:краткое\s+)?(?:резюме|содержание|изложение)(?:\s+(?:разговора|беседы|диалога))?`,
  // Chinese, Japanese, Korean
  '(?:对话|對話|会话|會話|聊天|精简)?(?:摘要|总结|總結|概要|小结)',
  '(?:会話の)?(?:要約|まとめ|サマリー)',
  '(?:대화\\s?)?(?:요약|정리)(?:문|본)?',
] as const

/** More words for it, which may be headings of parts of a summary, and so are removed after an introduction alone. */
export const INTRODUCED_NOUNS = [
  String.raw`(?:(?:short|brief|concise|updated|condensed|shortened|revised|structured|final|requested)(?:er)?\s+){0,3}(?:record|overview|version|text|narrative|json(?:\s+object)?)`,
  String.raw`(?:kürzere|gekürzte|überarbeitete)\s+(?:fassung|version)`,
] as const

/** Words after the noun in a heading or an introduction that say nothing either. */
export const OF_THE_CONVERSATION = String.raw`(?:\s+(?:of|for|der|des|de|della|da)\s+(?:the\s+|this\s+|these\s+|our\s+|your\s+|la\s+|los\s+)?(?:(?:earlier|previous|older|provided|given|above)\s+)?(?:conversation|messages?|chat|dialogue|discussion|session|text|summaries|unterhaltung|gesprächs|nachrichten|conversación|mensajes|conversazione|conversa))?`

/** Words that introduce the noun: "Here is the …", "Below is a …", "Sure, here's your …". */
export const INTRODUCTIONS = [
  String.raw`(?:here(?:\s+is|['’]s|\s+are)|below\s+is|this\s+is|the\s+following\s+is)\s+(?:the|a|an|your|my)?\s*`,
  String.raw`(?:hier\s+(?:ist|kommt|folgt)|nachfolgend|im\s+folgenden)\s+(?:die|eine|deine|ihre)?\s*`,
  String.raw`(?:voici|voilà|ci-dessous)\s+(?:le|un|votre|ton)?\s*`,
  String.raw`(?:aquí\s+(?:está|tienes|tiene)|a\s+continuación(?:,?\s+(?:está|el))?)\s*(?:el|un|tu|su)?\s*`,
  String.raw`ecco\s+(?:il|un)?\s*`,
  String.raw`(?:aqui\s+está|segue)\s+(?:o|um)?\s*`,
  String.raw`(?:вот|ниже)\s*`,
  '(?:以下是|下面是|这是|這是|以下为|以下為)(?:对话的|对话|该对话的|這段對話的)?',
  '(?:以下(?:は|が)|こちらが)(?:、)?(?:会話の)?',
  '(?:다음은|아래는)\\s?(?:대화의?\\s?)?',
] as const

/** Interjections before an introduction, or alone on the first line. */
export const INTERJECTIONS = [
  String.raw`sure(?:\s+thing)?|certainly|of\s+course|absolutely|okay|ok|got\s+it|understood|no\s+problem|alright`,
  String.raw`gerne|natürlich|klar|selbstverständlich|verstanden`,
  String.raw`bien\s+sûr|d['’]accord|certainement|compris`,
  String.raw`claro(?:\s+que\s+sí)?|por\s+supuesto|entendido`,
  String.raw`certo|certamente|claro|com\s+certeza`,
  String.raw`конечно|хорошо|понятно`,
  '好的|当然|當然|没问题|沒問題|明白了',
  'もちろんです|もちろん|承知しました|かしこまりました|わかりました|はい',
  '물론입니다|물론이죠|알겠습니다|네',
] as const

/** Sentences at the end that address the reader, and say nothing about the conversation. */
export const CLOSING_REMARKS = [
  String.raw`(?:please\s+)?let\s+me\s+know\s+(?:if|whether|when|what|how)\b`,
  String.raw`(?:please\s+)?feel\s+free\s+to\s+(?:ask|reach|let|contact)\b`,
  String.raw`i\s+hope\s+(?:this|that|the\s+summary)\s+(?:helps|is\s+helpful|is\s+useful)\b`,
  String.raw`hope\s+(?:this|that)\s+helps\b`,
  String.raw`is\s+there\s+anything\s+else\b`,
  String.raw`(?:if\s+you|should\s+you)\s+(?:need|want|have|would\s+like|require)\b[^.!?]{0,120}(?:let\s+me\s+know|just\s+ask|happy\s+to|feel\s+free|here\s+to\s+help)`,
  String.raw`would\s+you\s+like\s+me\s+to\b`,
  String.raw`(?:lass(?:en\s+sie)?|sag(?:en\s+sie)?)\s+(?:es\s+)?mich\s+(?:gerne\s+)?wissen\b|ich\s+hoffe,?\s+das\s+hilft\b|sag(?:en\s+sie)?\s+(?:mir\s+)?bescheid\b`,
  String.raw`n['’]hésitez\s+pas\s+à\b|dites-moi\s+si\b|j['’]espère\s+que\s+cela\b`,
  String.raw`(?:avísame|hazme\s+saber|házmelo\s+saber|no\s+dudes\s+en|espero\s+que\s+(?:esto|te)\s+(?:ayude|sirva))`,
  String.raw`fammi\s+sapere\s+se\b|spero\s+che\s+(?:questo|ti)\b|avise-me\s+se\b|espero\s+que\s+(?:isso|ajude)\b`,
  String.raw`(?:дайте|дай)\s+(?:мне\s+)?знать\b|надеюсь,?\s+это\s+поможет`,
  '(?:如果|如)(?:您|你)?(?:还|還)?(?:有|需要)(?:其他|任何|更多|进一步)?[^。！？]{0,40}(?:告诉我|告訴我|随时|隨時|请提出)|希望(?:这|這|以上)[^。！？]{0,12}(?:有帮助|有幫助)',
  '(?:他に|ほかに)?[^。！？]{0,30}(?:お知らせください|お気軽に[^。！？]{0,20}ください)|お役に立て(?:れば|ば)幸いです',
  '(?:추가로|더)?[^.。!?]{0,30}(?:말씀해\\s?주세요|알려\\s?주세요)|도움이\\s?되(?:었|길)',
] as const

/**
 * Beginnings of sentences that refuse the task, in the first person. A summary reports the refusals of others, and does
 * not begin like this.
 */
export const REFUSALS = [
  String.raw`(?:i(?:['’]m|\s+am)\s+(?:very\s+|really\s+|so\s+)?sorry|sorry|i\s+apologi[sz]e|my\s+apologies|unfortunately|regrettably)?(?:\s+for\s+[^.!?,;]{1,60})?[,.;:]?\s*(?:but\s+)?(?:as\s+an?\s+(?:ai|language|assistant)[^,.]{0,40},\s*)?i\s*(?:can(?:no|['’])?t|can\s+not|cannot|won['’]t|will\s+not|am\s+(?:unable|not\s+able)\s+to|['’]m\s+(?:unable|not\s+able)\s+to|must\s+decline|have\s+to\s+decline|don['’]t\s+feel\s+comfortable|do\s+not\s+feel\s+comfortable|am\s+not\s+comfortable)(?=\W|$)`,
  String.raw`(?:i(?:['’]m|\s+am)\s+(?:very\s+)?sorry|sorry)[,.;:]?\s*(?:but\s+)?(?:this|that|the|your)\s+(?:content|request|conversation)\b`,
  String.raw`(?:es\s+tut\s+mir\s+leid|tut\s+mir\s+leid|leider)[,.;:]?\s*(?:aber\s+)?(?:(?:ich\s+)?(?:kann|darf)(?:\s+ich)?)\b`,
  String.raw`(?:(?:je\s+suis\s+)?désolée?|malheureusement)[,.;:]?\s*(?:mais\s+)?je\s+ne\s+(?:peux|puis)\b`,
  String.raw`(?:lo\s+siento|disculpa|lamentablemente)[,.;:]?\s*(?:pero\s+)?no\s+puedo\b`,
  String.raw`mi\s+dispiace[,.;:]?\s*(?:ma\s+)?non\s+posso\b|(?:desculpe|lamento|sinto\s+muito)[,.;:]?\s*(?:mas\s+)?não\s+posso\b`,
  String.raw`(?:извините|простите|к\s+сожалению)[,.;:]?\s*(?:но\s+)?я\s+не\s+(?:могу|в\s+состоянии)`,
  '(?:很)?(?:抱歉|对不起|對不起|不好意思)[，,、。]?(?:但是?)?我?(?:无法|無法|不能|没办法|沒辦法|不便)',
  '(?:申し訳(?:ございません|ありません)|すみません|ごめんなさい)[、,。]?(?:が|けど)?[、,]?[^。]{0,40}(?:できません|できかねます|いたしかねます|お手伝いできない)',
  '(?:죄송(?:합니다|하지만)|미안(?:합니다|하지만))[,.]?\\s?[^.。]{0,40}(?:수\\s?없습니다|수\\s?없어요|어렵습니다)',
] as const
