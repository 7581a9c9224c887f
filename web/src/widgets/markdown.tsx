/** What users write as Markdown. HTML in it is text, links go to http(s) only, images are links. */
import { createContext, type ReactElement, useContext } from "react";
import Markdown from "react-markdown";
import remarkGfm from "remark-gfm";
import classes from "@/widgets/markdown.module.css";

const HTTP = /^https?:\/\//i;

/** Whether a text stands within a link: a link within it is none. */
const InLink = createContext(false);

/** An image would be fetched from wherever the text says, and tell its owner who reads: it is named. */
export function MarkdownText(props: { text: string }): ReactElement {
  return (
    <div className={classes.markdown}>
      <Markdown
        remarkPlugins={[remarkGfm]}
        urlTransform={(url) => (HTTP.test(url) ? url : "")}
        components={{
          // The page has a heading of its own: those of a text stand below it.
          h1: "h3",
          h2: "h4",
          h3: "h5",
          h4: "h6",
          h5: "h6",
          a: ({ href, children }) =>
            href === undefined || href === "" ? (
              <span>{children}</span>
            ) : (
              <a href={href} target="_blank" rel="noopener noreferrer nofollow">
                <InLink value>{children}</InLink>
              </a>
            ),
          // A box of a list of tasks has a name for those who do not see it.
          input: ({ checked }) => (
            <input
              type="checkbox"
              checked={checked === true}
              disabled
              aria-label={checked === true ? "done" : "to do"}
            />
          ),
          img: ({ src, alt }) => <NamedImage src={src} alt={alt} />,
        }}
      >
        {props.text}
      </Markdown>
    </div>
  );
}

function NamedImage(props: { src: unknown; alt: string | undefined }): ReactElement {
  const { src, alt } = props;
  const name = alt === undefined || alt === "" ? "image" : alt;
  const isWithin = useContext(InLink);
  if (isWithin || typeof src !== "string" || src === "") return <span>{name}</span>;
  return (
    <a href={src} target="_blank" rel="noopener noreferrer nofollow">
      {name}
    </a>
  );
}
